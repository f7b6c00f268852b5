// An error answer of the server.
import type { Problem } from './types';

export class ApiError extends Error {
  problems: Problem[];
  status: number;
  constructor(problems: Problem[], status: number) {
    super(problems.map((p) => p.message).join('\n'));
    this.problems = problems;
    this.status = status;
  }
}

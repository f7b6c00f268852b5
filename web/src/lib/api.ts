// The server's answers. A one-file report contains them by address, so that the same page needs no server.
import { ApiError } from './api-error';
import { connection } from './connection.svelte';
import { fromReport } from './report';
import type { Problem } from './types';

export { ApiError };

declare global {
  interface Window {
    WEFT_REPORT?: Record<string, unknown>;
  }
}

export const isReport = typeof window !== 'undefined' && window.WEFT_REPORT !== undefined;

async function ask<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const request: RequestInit = {
    method,
    signal,
    headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
  let answer: Response, text: string;
  for (;;) {
    try {
      answer = await fetch(path, request);
      text = await answer.text();
      break;
    } catch (e) {
      if (signal?.aborted) throw e;
      if (method !== 'GET') throw new ApiError([{ message: 'the server does not answer', remedy: 'start it again with weft serve' }], 0);
      await connection.back();
    }
  }
  connection.found();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ApiError([{ message: `${path}: status ${answer.status}` }], answer.status);
  }
  if (!answer.ok) {
    const errors = (json as { errors?: Problem[] }).errors;
    throw new ApiError(errors ?? [{ message: `${path}: status ${answer.status}` }], answer.status);
  }
  return json as T;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  if (window.WEFT_REPORT !== undefined) {
    const answer = fromReport(window.WEFT_REPORT, path);
    if (answer === undefined) throw new ApiError([{ message: `${path} is not in this report` }], 404);
    return answer as T;
  }
  return ask<T>('GET', path, undefined, signal);
}

export const post = <T>(path: string, body: unknown) => ask<T>('POST', path, body);
export const remove = <T>(path: string) => ask<T>('DELETE', path);

// "?from_ps=1&to_ps=2", without undefined values, in the given order: reports look up answers by the whole address.
export function query(parameters: Record<string, string | number | undefined>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  return given.length === 0 ? '' : '?' + given.map(([name, value]) => `${name}=${encodeURIComponent(value!)}`).join('&');
}

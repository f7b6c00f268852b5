// Settings that this browser keeps of the page. Browsers that show a file in a sandbox have no storage: then nothing is kept.
function attempt<T>(action: (storage: Storage) => T, otherwise: T): T {
  try {
    return action(localStorage);
  } catch {
    return otherwise;
  }
}
export const storage = {
  get: (name: string): string | null => attempt((s) => s.getItem(name), null),
  // False: there is no storage, or no space in it.
  set: (name: string, value: string): boolean => attempt((s) => (s.setItem(name, value), true), false),
  remove: (name: string): void => attempt((s) => s.removeItem(name), undefined),
  names: (): string[] => attempt((s) => Object.keys(s), []),
};

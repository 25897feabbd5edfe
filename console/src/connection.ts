import { useSyncExternalStore } from 'react';

let isReachable = true;
const listeners = new Set<() => void>();

const set = (value: boolean): void => {
  if (isReachable === value) return;
  isReachable = value;
  for (const listener of listeners) listener();
};

export const reportReachable = (): void => set(true);
export const reportUnreachable = (): void => set(false);

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Whether the last call reached the service. */
export const useIsReachable = (): boolean => useSyncExternalStore(subscribe, () => isReachable);

import { useSyncExternalStore } from 'react';

/** A message about a completed action. It disappears after a while. */
export type Toast = { id: number; message: string; isFailure: boolean };

/** Further messages replace the oldest. */
const MAX_SHOWN = 3;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

const set = (next: readonly Toast[]): void => {
  toasts = next;
  for (const listener of listeners) listener();
};

/** Shows that an action was done, or, with `isFailure`, that it failed. It covers nothing of the screen. */
export const notify = (message: string, { isFailure = false } = {}): void => {
  lastId += 1;
  set([...toasts, { id: lastId, message, isFailure }].slice(-MAX_SHOWN));
};

export const closeToast = (id: number): void => set(toasts.filter((toast) => toast.id !== id));

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useToasts = (): readonly Toast[] => useSyncExternalStore(subscribe, () => toasts);

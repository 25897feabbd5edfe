import { useSyncExternalStore } from 'react';

/** A message about what was done, which goes away by itself. */
export type Toast = { id: number; message: string; isFailure: boolean };

/** Older ones give way. */
const MAX_SHOWN = 3;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

const set = (next: readonly Toast[]): void => {
  toasts = next;
  for (const listener of listeners) listener();
};

/** Says what was done, or with `isFailure` what was not, where it covers nothing of the screen. */
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

import { useSyncExternalStore } from 'react';

/** An operation that can be undone, until this time. */
export type Undoable = { operation: string; until: Date };

/** A message about a completed action. It disappears after a while; with an undo, when that has expired. */
export type Toast = { id: number; message: string; isFailure: boolean; undo: Undoable | null };

/** Further messages replace the oldest. */
const MAX_SHOWN = 3;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

const set = (next: readonly Toast[]): void => {
  toasts = next;
  for (const listener of listeners) listener();
};

const add = (kept: readonly Toast[], toast: Omit<Toast, 'id'>): void => {
  lastId += 1;
  set([...kept, { id: lastId, ...toast }]);
};

/** Shows that an action was done, or, with `isFailure`, that it failed. */
export const notify = (message: string, { isFailure = false } = {}): void => {
  const [others, undo] = [toasts.filter((toast) => !toast.undo), toasts.filter((toast) => toast.undo)];
  add([...undo, ...others.slice(1 - MAX_SHOWN)], { message, isFailure, undo: null });
};

/** Shows that an action was done, with its undo, on every screen. Replaces an earlier offer. */
export const notifyWithUndo = (message: string, undo: Undoable): void =>
  add(
    toasts.filter((toast) => !toast.undo),
    { message, isFailure: false, undo },
  );

export const closeToast = (id: number): void => set(toasts.filter((toast) => toast.id !== id));

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useToasts = (): readonly Toast[] => useSyncExternalStore(subscribe, () => toasts);

import { CloseButton } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';
import { closeToast, type Toast, type Undoable, useToasts } from '../components/toasts.ts';
import { UndoOf } from '../people/undo.tsx';
import { useIsOver } from '../server-clock.ts';
import classes from './toaster.module.css';

const SHOWN_MS = 6_000;

/** Messages about the last actions, at the bottom of the window, above the bar of a selection. Alt T moves the focus there. */
export const Toaster = () => {
  const toasts = useToasts();
  const region = useRef<HTMLElement>(null);
  useHotkeys([['alt + T', () => region.current?.querySelector('button')?.focus()]], []);
  return (
    <section ref={region} className={classes.toaster} aria-label="Messages" aria-keyshortcuts="Alt+T">
      {/* Always rendered: screen readers announce only text that is added to it. */}
      <div className={classes.list} role="status">
        {toasts.map((toast) =>
          toast.undo ? (
            <UndoToast key={toast.id} {...toast} undo={toast.undo} />
          ) : (
            <PassingToast key={toast.id} {...toast} />
          ),
        )}
      </div>
    </section>
  );
};

/** Stays as long as it is pointed at or has the focus. */
const PassingToast = ({ id, message, isFailure }: Toast) => {
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    if (isHeld) return;
    const timer = setTimeout(() => closeToast(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id, isHeld]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only holds the message while it is read
    <div
      className={classes.toast}
      data-failure={isFailure || undefined}
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <span className={classes.message}>{message}</span>
      <CloseButton size="sm" aria-label="Close" onClick={() => closeToast(id)} />
    </div>
  );
};

/** Stays until the undo expires. */
const UndoToast = ({ id, message, undo }: Toast & { undo: Undoable }) => {
  const isOver = useIsOver(undo.until);
  useEffect(() => {
    if (isOver) closeToast(id);
  }, [id, isOver]);
  return (
    <div className={classes.toast}>
      <div className={classes.content}>
        <span className={classes.message}>{message}</span>
        <UndoOf operation={undo.operation} />
      </div>
      <CloseButton size="sm" aria-label="Close" onClick={() => closeToast(id)} />
    </div>
  );
};

import { CloseButton } from '@mantine/core';
import { useEffect, useState } from 'react';
import { closeToast, type Toast, useToasts } from '../components/toasts.ts';
import classes from './toaster.module.css';

const SHOWN_MS = 6_000;

/** Messages about the last actions: at the end of the navigation, which makes room, and on phones above the end of the screen. */
export const Toaster = () => (
  // Always rendered: screen readers announce only text that is added to it.
  <div className={classes.toaster} role="status">
    {useToasts().map((toast) => (
      <ToastCard key={toast.id} {...toast} />
    ))}
  </div>
);

const ToastCard = ({ id, message, isFailure }: Toast) => {
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

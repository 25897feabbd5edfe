import { Button, type ButtonProps, createPolymorphicComponent } from '@mantine/core';
import { forwardRef, type ReactNode } from 'react';
import classes from './floating-bar.module.css';

/** What can be done with what was selected or changed above: at the bottom of the window, over the end of the screen. */
export const FloatingBar = ({ label, children }: { label: string; children: ReactNode }) => (
  <section className={classes.region} aria-label={label}>
    <div className={classes.bar}>{children}</div>
  </section>
);

/** A button of the bar. A menu whose target it is sets `className`. */
export const BarButton = createPolymorphicComponent<'button', ButtonProps>(
  forwardRef<HTMLButtonElement, ButtonProps>((props, ref) => (
    <Button ref={ref} classNames={{ root: classes.action }} size="xs" {...props} />
  )),
);

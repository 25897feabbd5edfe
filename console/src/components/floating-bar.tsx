import { Button, type ButtonProps, createPolymorphicComponent } from '@mantine/core';
import { forwardRef, type ReactNode } from 'react';
import classes from './floating-bar.module.css';

/** A bar at the bottom of the window, over the end of the screen, with actions for selected or changed rows. */
export const FloatingBar = ({ label, children }: { label: string; children: ReactNode }) => (
  <section className={classes.region} aria-label={label} data-floating-bar>
    <div className={classes.bar}>{children}</div>
  </section>
);

/** A button of the bar. A menu whose target is the button sets `className`. */
export const BarButton = createPolymorphicComponent<'button', ButtonProps>(
  forwardRef<HTMLButtonElement, ButtonProps>((props, ref) => (
    <Button ref={ref} classNames={{ root: classes.action }} size="xs" {...props} />
  )),
);

import type { ComponentProps } from 'react';
import classes from './row-checkbox.module.css';

type Props = Omit<ComponentProps<'input'>, 'type' | 'className' | 'ref'> & {
  /** Whether it stands for several of which some are checked. */
  isMixed?: boolean;
};

/** A checkbox for rows: a plain element, because the styled one of Mantine takes most of the time of a long list. */
export const RowCheckbox = ({ isMixed = false, ...props }: Props) => (
  <input
    {...props}
    type="checkbox"
    className={classes.box}
    ref={(box) => {
      if (box) box.indeterminate = isMixed;
    }}
  />
);

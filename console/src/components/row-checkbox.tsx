import type { ComponentProps } from 'react';
import classes from './row-checkbox.module.css';

type Props = Omit<ComponentProps<'input'>, 'type' | 'className' | 'ref'> & {
  /** Whether it represents several boxes, some of which are checked. */
  isMixed?: boolean;
};

/** A checkbox for rows: a plain element, because Mantine's styled one takes most of the time of rendering a long list. */
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

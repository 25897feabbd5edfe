import { Checkbox } from '@mantine/core';
import type { Column } from '../components/column.ts';
import { RowCheckbox } from '../components/row-checkbox.tsx';
import type { Selection } from './use-selection.ts';

/** The user can select people one by one, in a range, or all who match. */
export type Selecting = {
  selection: Selection;
  /** The addresses that the list has loaded. */
  listed: () => readonly string[];
  /** Whether all matching people are loaded. */
  isComplete: boolean;
};

type Selectable = { email: string };

export const SelectPerson = ({
  selecting: { selection, listed },
  email,
}: {
  selecting: Selecting;
  email: string;
}) => (
  <RowCheckbox
    aria-label={`Select ${email}`}
    checked={selection.isSelected(email)}
    disabled={selection.selected === 'all'}
    onChange={({ nativeEvent }) =>
      nativeEvent instanceof MouseEvent && nativeEvent.shiftKey
        ? selection.extendTo(email, listed())
        : selection.toggle(email)
    }
  />
);

type SelectAllProps = Selecting & { label?: string };

/** @param label the text next to the box, if any */
export const SelectAll = ({
  selection: { selected, selectAll, clear },
  listed,
  isComplete,
  label,
}: SelectAllProps) => {
  const isAll = selected === 'all' || (isComplete && selected.size > 0 && selected.size === listed().length);
  return (
    <Checkbox
      aria-label="Select all who match"
      label={label}
      checked={isAll}
      indeterminate={!isAll && selected.size > 0}
      onChange={() => (isAll ? clear() : selectAll(isComplete ? listed() : null))}
    />
  );
};

export const selectColumn = (selecting: Selecting): Column<Selectable> => ({
  heading: <SelectAll {...selecting} />,
  id: 'select',
  width: '1.5rem',
  cell: ({ email }) => <SelectPerson selecting={selecting} email={email} />,
});

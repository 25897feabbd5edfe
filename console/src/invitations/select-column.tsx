import { Checkbox } from '@mantine/core';
import { RowCheckbox } from '../components/row-checkbox.tsx';
import type { Column } from '../components/virtual-table.tsx';
import type { InvitationSelection } from './use-invitation-selection.ts';

type Options<Row> = {
  selection: InvitationSelection;
  /** Selects all matching invitations, including those that are not loaded. */
  onSelectAll: () => void;
  canSelect: (row: Row) => boolean;
};

/** The boxes of the invitations that can be changed. */
export const selectColumn = <Row extends { id: number; email: string }>({
  selection: { selected, isAll, toggle, clear },
  onSelectAll,
  canSelect,
}: Options<Row>): Column<Row> => ({
  id: 'select',
  heading: (
    <Checkbox
      aria-label="Select all that match"
      checked={isAll}
      indeterminate={!isAll && selected.size > 0}
      onChange={isAll ? clear : onSelectAll}
    />
  ),
  width: '1.5rem',
  cell: (row) =>
    canSelect(row) && (
      <RowCheckbox
        aria-label={`Select ${row.email}`}
        checked={selected.has(row.id)}
        onChange={() => toggle(row)}
      />
    ),
});

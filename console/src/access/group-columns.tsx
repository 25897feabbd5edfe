import { Button, Checkbox, Popover, ScrollArea, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Outputs } from '../api.ts';
import type { Column } from '../components/virtual-table.tsx';
import type { AccessUser } from './use-cells.ts';

export type MatrixGroup = Outputs['access']['grid']['groups'][number];

/** More columns would push the apps out of sight. */
const MAX_AT_FIRST = 6;

/** Which groups are shown as columns: all of a few, or those that the user chooses. */
export const useShownGroups = (groups: readonly MatrixGroup[]) => {
  const [chosen, setChosen] = useState<readonly number[] | null>(null);
  const first = groups.length <= MAX_AT_FIRST ? groups.map(({ id }) => id) : [];
  const ids = chosen ?? first;
  return { shown: groups.filter(({ id }) => ids.includes(id)), ids, choose: setChosen };
};

type Props = {
  groups: readonly MatrixGroup[];
  ids: readonly number[];
  onChoose: (ids: number[]) => void;
};

/** Chooses the groups that are columns of the matrix. */
export const GroupMenu = ({ groups, ids, onChoose }: Props) =>
  groups.length === 0 ? null : (
    <Popover position="bottom-end" trapFocus withinPortal>
      <Popover.Target>
        <Button variant="default">
          Groups: {ids.length} of {groups.length}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <ScrollArea.Autosize mah="50vh">
          <Checkbox.Group
            aria-label="Groups shown as columns"
            value={ids.map(String)}
            onChange={(values) => onChoose(values.map(Number))}
          >
            <Stack gap="xs" p={4}>
              {groups.map(({ id, name }) => (
                <Checkbox key={id} value={String(id)} label={name} />
              ))}
            </Stack>
          </Checkbox.Group>
        </ScrollArea.Autosize>
      </Popover.Dropdown>
    </Popover>
  );

/** Who belongs to a group. Members are changed on its screen, to which the heading leads. */
export const groupColumn = ({ id, name }: MatrixGroup, client: number): Column<AccessUser> => ({
  id: `group ${id}`,
  heading: (
    <Link
      className="action-link"
      to="/groups/$client/$group"
      params={{ client: String(client), group: String(id) }}
      title={`Group ${name}`}
    >
      {name}
    </Link>
  ),
  width: 'minmax(5rem, 8rem)',
  cell: ({ groups }) =>
    groups.includes(id) ? (
      <span role="img" aria-label={`Member of ${name}`}>
        ✓
      </span>
    ) : null,
});

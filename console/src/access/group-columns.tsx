import { IconUsersGroup } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Outputs } from '../api.ts';
import type { Column } from '../components/column.ts';
import classes from './access-matrix.module.css';
import type { AccessUser } from './use-cells.ts';

export type MatrixGroup = Outputs['access']['grid']['groups'][number];

/** More columns would push the apps out of sight. */
const MAX_AT_FIRST = 6;

/** The groups that are shown as columns: all if there are few, or those that the user chooses. */
export const useShownGroups = (groups: readonly MatrixGroup[]) => {
  const [chosen, setChosen] = useState<readonly number[] | null>(null);
  const first = groups.length <= MAX_AT_FIRST ? groups.map(({ id }) => id) : [];
  const ids = chosen ?? first;
  return { shown: groups.filter(({ id }) => ids.includes(id)), ids, choose: setChosen };
};

/** Who belongs to a group. The heading leads to its screen, where members are changed. */
export const groupColumn = ({ id, name }: MatrixGroup, client: number): Column<AccessUser> => ({
  id: `group ${id}`,
  heading: (
    <Link
      className={`action-link ${classes.group}`}
      to="/groups/$client/$group"
      params={{ client: String(client), group: String(id) }}
      title={`Group ${name}`}
    >
      <IconUsersGroup size={14} stroke={1.6} aria-hidden />
      {name}
    </Link>
  ),
  width: 'minmax(5rem, 8rem)',
  cell: ({ groups }) =>
    groups.includes(id) ? (
      <span role="img" aria-label={`Member of ${name}`} className={classes.member}>
        ✓
      </span>
    ) : null,
});

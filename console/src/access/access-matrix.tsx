import { Badge, Checkbox, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, useRef, useState } from 'react';
import type { Outputs } from '../api.ts';
import { useIsPhone } from '../components/row-card.tsx';
import { RowCheckbox } from '../components/row-checkbox.tsx';
import { StatusText } from '../components/status-text.tsx';
import { type Column, VirtualTable } from '../components/virtual-table.tsx';
import { nameOf } from '../people/name-of.ts';
import classes from './access-matrix.module.css';
import { ExplainDialog, type Question } from './explain-dialog.tsx';
import { groupColumn, type MatrixGroup } from './group-columns.tsx';
import { MatrixCell } from './matrix-cell.tsx';
import { moveFocus } from './move-focus.ts';
import { type AccessUser, type Cells, isByGroup } from './use-cells.ts';

type App = Outputs['access']['grid']['apps'][number];

type Props = {
  users: readonly AccessUser[];
  apps: readonly App[];
  /** Shown as columns after the apps. */
  groups: readonly MatrixGroup[];
  client: number;
  cells: Cells;
  hasMore: boolean;
  onMore: () => void;
  /** Loads the remaining people, so that the box in a heading sets them too. */
  onAll: () => Promise<readonly AccessUser[]>;
};

/** Arrow keys move between the cells, Shift with a click or with Space sets a range, headings set all people. */
export const AccessMatrix = ({ users, apps, groups, client, cells, hasMore, onMore, onAll }: Props) => {
  const last = useRef<{ row: number; column: number; granted: boolean } | null>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const isPhone = useIsPhone();
  const rowOf = new Map(users.map((user, row) => [user, row]));
  const appIds = apps.map(({ id }) => id);

  /** A range may span several apps. It gets the state of the cell where it begins. */
  const toggle = (user: AccessUser, column: number, isRange: boolean): void => {
    const row = rowOf.get(user) ?? 0;
    const start = isRange ? last.current : null;
    const granted = start?.granted ?? !cells.isGranted(user, appIds[column] ?? '');
    const { row: startRow, column: startColumn } = start ?? { row, column };
    cells.set(between(users, startRow, row), between(appIds, startColumn, column), granted);
    last.current = { row, column, granted };
  };
  const appColumn = ({ id, label }: App, column: number): Column<AccessUser> => ({
    id,
    heading: <AllPeople label={label} users={users} appId={id} cells={cells} onAll={onAll} />,
    width: isPhone ? '5.5rem' : '10rem',
    cell: (user) => (
      <MatrixCell
        user={user}
        app={{ id, label }}
        isGranted={cells.isGranted(user, id)}
        position={`${rowOf.get(user)} ${column}`}
        reason={reasonOf(user, id)}
        onToggle={(isRange) => toggle(user, column, isRange)}
        onExplain={() => setQuestion({ email: user.email, name: nameOf(user), app: { id, label, client } })}
      />
    ),
  });
  const person: Column<AccessUser> = {
    heading: 'Person',
    width: isPhone ? '7.5rem' : '20rem',
    sticky: 'start',
    cell: (user) =>
      isPhone ? (
        <div className={classes.person}>
          <PersonLink user={user} />
          {user.is_admin && <span className={classes.state}>Admin</span>}
          {!user.is_active && <span className={classes.state}>Suspended</span>}
        </div>
      ) : (
        <Group gap="xs" wrap="nowrap">
          <PersonLink user={user} />
          {nameOf(user) !== user.email && (
            <span className={classes.address} title={user.email}>
              {user.email}
            </span>
          )}
          {user.is_admin && (
            <Badge variant="default" flex="none" title={reasonOf(user)}>
              Admin
            </Badge>
          )}
          {!user.is_active && <StatusText label="Suspended" color="yellow" />}
        </Group>
      ),
  };
  const allApps: Column<AccessUser> = {
    heading: 'All apps',
    width: '6rem',
    cell: (user) => (
      <RowCheckbox
        aria-label={`All apps for ${user.email}`}
        title={reasonOf(user)}
        disabled={!user.is_changeable}
        checked={user.is_admin || appIds.every((id) => cells.isGranted(user, id))}
        isMixed={isMixed(appIds.map((id) => cells.isGranted(user, id)))}
        onChange={({ currentTarget: { checked } }) => cells.set([user], appIds, checked)}
      />
    ),
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only moves the focus between the checkboxes inside
    <div className={classes.matrix} onKeyDown={(event: KeyboardEvent) => moveFocus(event)}>
      <VirtualTable
        label="Access"
        card="none"
        columns={[
          person,
          ...(isPhone ? [] : [allApps]),
          ...apps.map(appColumn),
          ...groups.map((group) => groupColumn(group, client)),
        ]}
        rows={users}
        keyOf={({ email }) => email}
        hasMore={hasMore}
        onMore={onMore}
      />
      {users.some((user) => user.apps_by_group.length > 0) && <Legend />}
      <ExplainDialog question={question} onClose={() => setQuestion(null)} />
    </div>
  );
};

const PersonLink = ({ user }: { user: AccessUser }) => (
  <Link className="text-link" to="/people/$email" params={{ email: user.email }} title={user.email}>
    {nameOf(user)}
  </Link>
);

const Legend = () => (
  <Text size="sm" c="dimmed" mt="xs" className={classes.legend}>
    <Checkbox.Indicator size="xs" checked {...OUTLINED} />
    Given by a group, and changed there
  </Text>
);

/** Like the boxes of apps that groups give. */
const OUTLINED = {
  variant: 'outline',
  iconColor: 'var(--mantine-primary-color-filled)',
} as const;

const isMixed = (granted: boolean[]): boolean => granted.includes(true) && granted.includes(false);

const between = <T,>(items: readonly T[], one: number, other: number): T[] =>
  items.slice(Math.min(one, other), Math.max(one, other) + 1);

/** Why the boxes of a person are locked. */
const reasonOf = (user: AccessUser, appId?: string): string | undefined => {
  const { is_admin, is_changeable } = user;
  if (is_admin) return 'Has all apps of the client as its admin';
  if (!is_changeable) return 'Has rights that you do not have, so that others change these apps';
  return appId !== undefined && isByGroup(user, appId)
    ? 'Given by a group: change the group instead'
    : undefined;
};

type AllPeopleProps = Pick<Props, 'users' | 'cells' | 'onAll'> & { label: string; appId: string };

const AllPeople = ({ label, users, appId, cells, onAll }: AllPeopleProps) => {
  const changeable = users.filter(({ is_changeable }) => is_changeable);
  const granted = changeable.filter((user) => cells.isGranted(user, appId)).length;
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the box is inside
    <label className={classes.all}>
      <RowCheckbox
        aria-label={`${label} for all people`}
        checked={granted > 0 && granted === changeable.length}
        isMixed={granted > 0 && granted < changeable.length}
        onChange={async ({ currentTarget: { checked } }) => cells.set(await onAll(), [appId], checked)}
      />
      {label}
    </label>
  );
};

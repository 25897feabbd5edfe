import { Badge, Checkbox, type CheckboxIndicatorProps, Group } from '@mantine/core';
import { IconChecks } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import type { Outputs } from '../api.ts';
import type { Column } from '../components/column.ts';
import { dateOf, shortDateOf } from '../components/date-text.tsx';
import { nameOf } from '../components/name-of.ts';
import { useIsPhone } from '../components/row-card.tsx';
import { RowCheckbox } from '../components/row-checkbox.tsx';
import { StatusText } from '../components/status-text.tsx';
import { VirtualTable } from '../components/virtual-table.tsx';
import classes from './access-matrix.module.css';
import { ALL, type CellFocus, cellId } from './cell-focus.ts';
import { ExplainDialog, type Question } from './explain-dialog.tsx';
import { groupColumn, type MatrixGroup } from './group-columns.tsx';
import { type AccessUser, type Cells, isByGroup } from './use-cells.ts';

type App = Outputs['access']['grid']['apps'][number];

type Props = {
  users: readonly AccessUser[];
  apps: readonly App[];
  /** Shown as columns after the apps. */
  groups: readonly MatrixGroup[];
  client: number;
  cells: Cells;
  focus: CellFocus;
  hasMore: boolean;
  onMore: () => void;
  /** Loads the remaining people, so that the button in a heading sets them too. */
  onAll: () => Promise<readonly AccessUser[]>;
};

/** Two lines of a label, and the button below them. */
const HEADING_HEIGHT = 62;

/** Arrow keys move between the cells, Shift with a click or with Space sets a range, buttons at the edges set rows and columns. */
export const AccessMatrix = ({
  users,
  apps,
  groups,
  client,
  cells,
  focus,
  hasMore,
  onMore,
  onAll,
}: Props) => {
  const last = useRef<{ email: string; appId: string; granted: boolean } | null>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const isPhone = useIsPhone();
  const emails = users.map(({ email }) => email);
  const appIds = apps.map(({ id }) => id);
  const stop = stopOf(focus.active, users, appIds);
  const cellProps = (email: string, appId: string) => {
    const id = cellId(email, appId);
    return { 'data-cell': id, tabIndex: id === stop ? 0 : -1 };
  };

  /** A range may span several apps. It gets the state of the cell where it begins. */
  const toggle = (user: AccessUser, appId: string, isRange: boolean): void => {
    const start = isRange ? last.current : null;
    const granted = start?.granted ?? !cells.isGranted(user, appId);
    const rows = between(emails, start?.email ?? user.email, user.email);
    const columns = between(appIds, start?.appId ?? appId, appId);
    cells.set(users.slice(...rows), appIds.slice(...columns), granted);
    last.current = { email: user.email, appId, granted };
  };
  const appColumn = ({ id, label }: App): Column<AccessUser> => {
    const changeable = users.filter((user) => user.is_changeable && !isByGroup(user, id));
    const isFull = changeable.every((user) => cells.isGranted(user, id));
    return {
      id,
      heading: (
        <div className={classes.heading}>
          <span className={classes.label} title={label}>
            {label}
          </span>
          <SetAll
            {...cellProps(ALL, id)}
            label={`${isFull ? 'Revoke' : 'Grant'} ${label} for all people`}
            isFull={isFull}
            disabled={changeable.length === 0}
            onClick={async () => cells.set(await onAll(), [id], !isFull)}
          />
        </div>
      ),
      width: isPhone ? '5.5rem' : widthOf(label),
      cell: (user) => (
        <MatrixCell
          {...cellProps(user.email, id)}
          user={user}
          app={{ id, label }}
          isGranted={cells.isGranted(user, id)}
          onToggle={(isRange) => toggle(user, id, isRange)}
          onExplain={() => setQuestion({ email: user.email, name: nameOf(user), app: { id, label, client } })}
        />
      ),
    };
  };
  const person: Column<AccessUser> = {
    heading: 'Person',
    width: isPhone ? '7rem' : '21rem',
    sticky: 'start',
    cell: (user) => {
      const isFull = appIds.every((id) => cells.isGranted(user, id));
      return (
        <>
          {isPhone ? <NarrowPerson user={user} /> : <Person user={user} />}
          {!isPhone && user.is_changeable && (
            <SetAll
              {...cellProps(user.email, ALL)}
              label={`${isFull ? 'Revoke' : 'Grant'} all apps for ${user.email}`}
              isFull={isFull}
              onClick={() => cells.set([user], appIds, !isFull)}
            />
          )}
        </>
      );
    },
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only moves the focus between the controls inside
    <div
      ref={focus.matrix}
      className={classes.matrix}
      onFocus={focus.onFocus}
      onKeyDown={(event) => focus.onKeyDown(event, emails, appIds)}
    >
      <VirtualTable
        label="Access"
        card="none"
        headingHeight={HEADING_HEIGHT}
        columns={[person, ...apps.map(appColumn), ...groups.map((group) => groupColumn(group, client))]}
        rows={users}
        keyOf={({ email }) => email}
        hasMore={hasMore}
        onMore={onMore}
      />
      <Legend />
      <ExplainDialog question={question} onClose={() => setQuestion(null)} />
    </div>
  );
};

/** The cell that Tab leads to: the one that had the focus last, or else the first that can be changed. */
const stopOf = (active: string | null, users: readonly AccessUser[], appIds: readonly string[]): string => {
  const [email = '', appId = ''] = active?.split(' ') ?? [];
  const isShown =
    (email === ALL || users.some((user) => user.email === email)) &&
    (appId === ALL || appIds.includes(appId));
  if (active !== null && isShown) return active;
  return cellId(users.find(({ is_changeable }) => is_changeable)?.email ?? '', appIds[0] ?? '');
};

/** A label wraps to two lines, and is shortened if it is longer. The end of a grant needs the least width. */
const widthOf = (label: string): string => `${Math.min(Math.max(8.25, 2 + label.length * 0.25), 11)}rem`;

/** The indexes from one item to another, for `slice`. */
const between = (items: readonly string[], one: string, other: string): [start: number, end: number] => {
  const [start, end] = [items.indexOf(one), items.indexOf(other)];
  return [Math.min(start, end), Math.max(start, end) + 1];
};

type SetAllProps = {
  'data-cell': string;
  tabIndex: number;
  label: string;
  isFull: boolean;
  disabled?: boolean;
  onClick: () => void;
};

/** Sets a whole row or column. A button unlike the boxes, which show what people have. */
const SetAll = ({ label, isFull, ...props }: SetAllProps) => (
  <button
    {...props}
    type="button"
    className={classes.all}
    aria-label={label}
    title={label}
    data-full={isFull || undefined}
  >
    <IconChecks size={16} stroke={1.8} aria-hidden />
  </button>
);

const PersonLink = ({ user }: { user: AccessUser }) => (
  <Link
    className={`text-link ${classes.name}`}
    to="/people/$email"
    params={{ email: user.email }}
    title={user.email}
  >
    {nameOf(user)}
  </Link>
);

const NarrowPerson = ({ user }: { user: AccessUser }) => (
  <div className={classes.person}>
    <PersonLink user={user} />
    {user.is_admin && <span className={classes.state}>Admin</span>}
    {!user.is_active && <span className={classes.state}>Suspended</span>}
  </div>
);

const Person = ({ user }: { user: AccessUser }) => (
  <Group gap="xs" wrap="nowrap" flex={1} miw={0}>
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
);

/** Why the boxes of a person are locked. */
const reasonOf = (user: AccessUser, appId?: string): string | undefined => {
  const { is_admin, is_changeable } = user;
  if (is_admin) return 'Has all apps of the client as its admin';
  if (!is_changeable) return 'Has rights that you do not have, so that others change these apps';
  return appId !== undefined && isByGroup(user, appId)
    ? 'Given by a group: change the group instead'
    : undefined;
};

type CellProps = {
  'data-cell': string;
  tabIndex: number;
  user: AccessUser;
  app: { id: string; label: string };
  isGranted: boolean;
  onToggle: (isRange: boolean) => void;
  onExplain: () => void;
};

/** Whether a person has an app, until when, and why. An app that a group gives cannot be revoked here, and does not end with a grant. */
const MatrixCell = ({ user, app, isGranted, onToggle, onExplain, ...place }: CellProps) => {
  const isLocked = isByGroup(user, app.id);
  const isChanged = isGranted !== user.apps.includes(app.id);
  const isEnding = isGranted && !isChanged && !isLocked && !user.is_admin;
  const end = isEnding ? user.ends.find((one) => one.app === app.id) : undefined;
  return (
    <div className={classes.cell} data-changed={isChanged || undefined}>
      <RowCheckbox
        {...place}
        aria-label={`${app.label} for ${user.email}${isChanged ? ', not saved' : ''}`}
        title={reasonOf(user, app.id)}
        disabled={!user.is_changeable}
        aria-readonly={isLocked || undefined}
        checked={user.is_admin || isGranted}
        onChange={({ nativeEvent }) => {
          if (!isLocked) onToggle('shiftKey' in nativeEvent && nativeEvent.shiftKey === true);
        }}
        onKeyDown={({ key }) => {
          if (key === '?') onExplain();
        }}
      />
      {end && (
        <span className={classes.end} title={`Ends ${dateOf(end.expires_at)}`}>
          to {shortDateOf(end.expires_at)}
        </span>
      )}
      {/* The key does the same, so that Tab moves from box to box. */}
      <button
        type="button"
        className={classes.why}
        tabIndex={-1}
        aria-label={`Why? ${app.label} for ${user.email}`}
        title="Why? In the box, the key ? asks, too."
        onClick={onExplain}
      >
        Why?
      </button>
    </div>
  );
};

const LEGEND: [text: string, look: CheckboxIndicatorProps][] = [
  ['Granted', {}],
  [
    'Given by a group, and changed there',
    { variant: 'outline', iconColor: 'var(--mantine-primary-color-filled)' },
  ],
  ['Locked: the person is an admin, or you may not change them', { disabled: true }],
];

const Legend = () => (
  <ul className={`plain-list ${classes.legend}`} aria-label="What the boxes mean">
    {LEGEND.map(([text, look]) => (
      <li key={text}>
        <Checkbox.Indicator size="xs" checked {...look} />
        {text}
      </li>
    ))}
    <li>
      <span className={classes.unsaved} aria-hidden />
      Changed, and not saved yet
    </li>
    <li>
      <IconChecks size={16} stroke={1.8} aria-hidden className={classes.sets} />
      Sets a whole row or column, which you then save
    </li>
  </ul>
);

import { Checkbox, Text, TextInput } from '@mantine/core';
import type { Column } from '../components/column.ts';
import { REMOVE_COLUMN, RemoveButton } from '../components/remove-button.tsx';
import { VirtualTable } from '../components/virtual-table.tsx';
import { AppChoice, type AppOption } from './app-choice.tsx';
import { changeRow, hasErrors, type InviteRow } from './invite-rows.ts';
import { appsOf, type SharedAccess } from './use-invite-list.ts';

type Change = (rows: (rows: InviteRow[]) => InviteRow[]) => void;
type Shown = { apps: readonly AppOption[]; access: SharedAccess; onChange: Change };
type Props = Shown & { rows: InviteRow[] };

const noMore = (): void => {};

/** The people to invite; every cell can be edited. Apps that the form gives to all are dimmed. */
export const InviteGrid = ({ rows, ...shown }: Props) => (
  <VirtualTable
    label="People to invite"
    columns={columnsOf(shown)}
    rows={rows}
    rowHeight={56}
    keyOf={({ key }) => key}
    hasMore={false}
    onMore={noMore}
  />
);

const columnsOf = ({ apps, access, onChange }: Shown): Column<InviteRow>[] => [
  {
    heading: 'Email address',
    width: '2fr',
    cell: ({ key, email, errors }) => (
      <TextInput
        aria-label={`Email address ${key}`}
        value={email}
        error={errors.email !== undefined}
        onChange={({ currentTarget: { value } }) =>
          onChange((rows) => changeRow(rows, key, { email: value }))
        }
      />
    ),
  },
  nameColumn('First name', 'firstName', 'first_name', onChange),
  nameColumn('Last name', 'lastName', 'last_name', onChange),
  {
    heading: 'Apps',
    width: '2fr',
    onPhone: 'plain-half',
    cell: (row) => (
      <AppChoice
        label={`Apps of ${row.email}`}
        options={apps}
        value={appsOf(row, access)}
        isInherited={row.apps === null}
        isInvalid={row.errors.initial_apps !== undefined}
        onChange={(value) => onChange((rows) => changeRow(rows, row.key, { apps: value }))}
      />
    ),
  },
  {
    heading: 'Demo',
    width: '3rem',
    onPhone: 'half',
    cell: ({ key, email, isDemo }) => (
      <Checkbox
        aria-label={`${email} is a demo user`}
        checked={isDemo ?? access.isDemo}
        onChange={({ currentTarget: { checked } }) =>
          onChange((rows) => changeRow(rows, key, { isDemo: checked }))
        }
      />
    ),
  },
  { heading: 'Errors', width: '2fr', onPhone: 'plain', cell: (row) => <Errors row={row} /> },
  {
    ...REMOVE_COLUMN,
    cell: ({ key, email }) => (
      <RemoveButton
        label={`Remove ${email}`}
        onClick={() => onChange((rows) => rows.filter((row) => row.key !== key))}
      />
    ),
  },
];

const nameColumn = (
  heading: string,
  field: 'firstName' | 'lastName',
  error: string,
  onChange: Change,
): Column<InviteRow> => ({
  heading,
  width: '1fr',
  onPhone: 'plain-half',
  cell: ({ key, email, errors, ...row }) => (
    <TextInput
      aria-label={`${heading} of ${email}`}
      placeholder={heading}
      value={row[field]}
      error={errors[error] !== undefined}
      onChange={({ currentTarget: { value } }) =>
        onChange((rows) => changeRow(rows, key, { [field]: value }))
      }
    />
  ),
});

const Errors = ({ row }: { row: InviteRow }) =>
  hasErrors(row) && (
    <Text size="sm" lineClamp={2} c="var(--mantine-color-error)" style={{ whiteSpace: 'normal' }}>
      {row.line !== undefined && `Line ${row.line}: `}
      {Object.values(row.errors).join(' ')}
    </Text>
  );

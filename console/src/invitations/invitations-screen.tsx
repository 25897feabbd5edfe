import { Button, Checkbox } from '@mantine/core';
import { IconUserPlus } from '@tabler/icons-react';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { capitalized } from '../components/capitalized.ts';
import { useClientName, useClients } from '../components/client-select.tsx';
import type { Column } from '../components/column.ts';
import { DateText, exactTimeOf, shortDateOf } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { FilterChip } from '../components/filter-chip.tsx';
import { nameOf } from '../components/name-of.ts';
import { PagedTable } from '../components/paged-table.tsx';
import { RowCheckbox } from '../components/row-checkbox.tsx';
import { ROW_MENU_COLUMN } from '../components/row-menu.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { oneOf } from '../components/search-params.ts';
import { MailLink } from '../mails/mail-link.tsx';
import { MailNotice } from '../mails/mail-notice.tsx';
import { reasonColumn, reasonOf } from '../mails/mail-reason.tsx';
import { isWaiting } from '../mails/mails-filter.ts';
import { CLIENT_ROLES, mayDo, roleLabel } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { useInvitationActions } from './invitation-actions.tsx';
import { InvitationStatus, STATUS_LABELS } from './invitation-status.tsx';
import { type InvitationsFilter, STATUS_FILTERS } from './invitations-filter.ts';
import { useInvitationBulkBar } from './use-invitation-bulk-bar.tsx';
import {
  type InvitationSelection,
  MAX_SELECTED,
  useInvitationSelection,
} from './use-invitation-selection.ts';

type Invitation = Extract<Outputs['invitations']['search'], readonly unknown[]>[number];

const PAGE_SIZE = 100;
const REFRESH_MS = 5_000;
const route = getRouteApi('/invitations');

/** Pending and past invitations. */
export const InvitationsScreen = () => {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const nameOfClient = useClientName();
  const hasSeveralClients = useClients().length > 1;
  const { roles } = useSession();
  const isAdmin = mayDo(roles, 'manage-people');
  const { menuOf, panels } = useInvitationActions();
  const selection = useInvitationSelection(JSON.stringify(filter));
  const { bar, results } = useInvitationBulkBar(selection);
  const change = (changes: Partial<InvitationsFilter>): void => {
    void navigate({ search: { ...filter, ...changes }, replace: true });
  };
  const invitations = useInfiniteQuery(
    trpc.invitations.search.infiniteQueryOptions(
      { ...filter, limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id),
        placeholderData: keepPreviousData,
        refetchInterval: ({ state }) => (state.data?.pages.some(hasWaiting) ? REFRESH_MS : false),
      },
    ),
  );
  const rows = invitations.data?.pages.flat() ?? [];
  const canChange = (invitation: Invitation): boolean =>
    isOpen(invitation) && mayDo(roles, 'manage-people', invitation.client);
  const canRetry = (invitation: Invitation): boolean =>
    canChange(invitation) && invitation.mail?.status === 'failed';
  const selectAll = async (isWanted = canChange): Promise<void> => {
    let loaded: Pick<typeof invitations, 'data' | 'hasNextPage'> = invitations;
    const found = (): Invitation[] => loaded.data?.pages.flat().filter(isWanted) ?? [];
    while (loaded.hasNextPage && found().length < MAX_SELECTED) loaded = await invitations.fetchNextPage();
    selection.selectAll(found());
  };
  const { selected } = selection;
  const isAll =
    selected.size === MAX_SELECTED ||
    (selected.size > 0 &&
      !invitations.hasNextPage &&
      rows.filter(canChange).every(({ id }) => selected.has(id)));
  return (
    <>
      <ScreenHeader
        title="Invitations"
        actions={
          isAdmin && (
            <Button
              leftSection={<IconUserPlus size={16} stroke={1.6} aria-hidden />}
              renderRoot={(props) => <Link {...props} to="/invite" />}
            >
              Invite people
            </Button>
          )
        }
      />
      <FilterBar
        search={{
          label: 'Search by email address',
          value: filter.search,
          onChange: (search) => change({ search }),
        }}
      >
        <FilterChip
          label="Status"
          choices={STATUS_CHOICES}
          value={statusOf(filter)}
          onChange={(value) => change({ status: oneOf(value, STATUS_FILTERS) ?? 'all' })}
        />
        {isAdmin && rows.some(canRetry) && (
          <Button variant="default" size="xs" onClick={() => void selectAll(canRetry)}>
            Select failed
          </Button>
        )}
      </FilterBar>
      <MailNotice />
      {panels}
      {results}
      <PagedTable
        label="Invitations"
        isSelected={isAdmin ? ({ id }) => selected.has(id) : undefined}
        columns={columnsOf({
          select: isAdmin
            ? selectColumn({ selection, isAll, onSelectAll: () => void selectAll(), canSelect: canChange })
            : undefined,
          nameOfClient: hasSeveralClients ? nameOfClient : undefined,
          menuOf: isAdmin || mayDo(roles, 'manage-credentials') ? menuOf : undefined,
          hasRoles: rows.some(({ roles: given }) => given.length > 0),
          hasReasons: rows.some(({ mail }) => reasonOf(mail) !== ''),
        })}
        pages={invitations}
        keyOf={({ id }) => id}
        empty={<EmptyState title="No invitations">Change the filter, or invite someone.</EmptyState>}
      />
      {isAdmin && bar}
    </>
  );
};

const STATUS_CHOICES = STATUS_FILTERS.filter((value) => value !== 'all').map((value) => ({
  value,
  label: STATUS_LABELS[value],
}));

/** Undefined: all. */
const statusOf = ({ status = 'pending' }: InvitationsFilter) => (status === 'all' ? undefined : status);

type ColumnOptions = {
  select: Column<Invitation> | undefined;
  /** Set for users who see several clients. */
  nameOfClient: ((id: number) => string) | undefined;
  menuOf: ((invitation: Invitation) => ReactNode) | undefined;
  hasReasons: boolean;
  /** Whether one of the invitations gives roles. */
  hasRoles: boolean;
};

const columnsOf = ({
  select,
  nameOfClient,
  menuOf,
  hasReasons,
  hasRoles,
}: ColumnOptions): Column<Invitation>[] => [
  ...(select ? [select] : []),
  { heading: 'Email address', width: 'minmax(11rem, 2fr)', cell: ({ email }) => email },
  ...(hasRoles
    ? [{ heading: 'Role', width: '8rem', cell: ({ roles }: Invitation) => rolesText(roles) }]
    : []),
  ...(nameOfClient
    ? [{ heading: 'Client', width: '1fr', cell: ({ client }: Invitation) => nameOfClient(client) }]
    : []),
  {
    heading: 'Status',
    width: '6.5rem',
    onPhone: 'half',
    cell: ({ status }) => <InvitationStatus status={status} />,
  },
  { heading: 'Mail', width: '6.5rem', onPhone: 'half', cell: ({ mail }) => <MailLink mail={mail} /> },
  ...(hasReasons ? [reasonColumn<Invitation>(({ mail }) => mail)] : []),
  {
    heading: 'Invited',
    width: '1.5fr',
    cell: ({ date_invited: date, user }) => (
      <span title={`${exactTimeOf(date)} by ${user.email}`}>
        {shortDateOf(date)} by {nameOf(user)}
      </span>
    ),
  },
  { heading: 'Expires', width: '9.5rem', cell: expiryOf },
  ...(menuOf
    ? [
        {
          ...ROW_MENU_COLUMN,
          sticky: 'end' as const,
          cell: (invitation: Invitation) => (isOpen(invitation) ? menuOf(invitation) : null),
        },
      ]
    : []),
];

const rolesText = (names: readonly string[]): string =>
  capitalized(
    CLIENT_ROLES.filter(({ name }) => names.includes(name))
      .map(roleLabel)
      .join(', ') || 'member',
  );

const hasWaiting = (invitations: readonly Invitation[]): boolean =>
  invitations.some((invitation) => isOpen(invitation) && isWaiting(invitation.mail?.status));

/** Expired invitations can be resent, which renews them. */
const isOpen = ({ status }: Invitation): boolean => status === 'pending' || status === 'expired';

const expiryOf = (invitation: Invitation) =>
  isOpen(invitation) ? <DateText date={invitation.expires_at} /> : '';

type Options<Row> = {
  selection: InvitationSelection;
  /** Whether all that can be changed are selected, or the largest number that one change takes. */
  isAll: boolean;
  /** Selects all matching invitations, including those that are not loaded. */
  onSelectAll: () => void;
  canSelect: (row: Row) => boolean;
};

/** The boxes of the invitations that can be changed. */
const selectColumn = <Row extends { id: number; email: string }>({
  selection: { selected, toggle, clear },
  isAll,
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

import { Button, Group } from '@mantine/core';
import type { Outputs } from '../api.ts';
import type { Column } from '../components/column.ts';
import { DateText } from '../components/date-text.tsx';
import { StatusText } from '../components/status-text.tsx';
import { VirtualTable } from '../components/virtual-table.tsx';

type Version = Outputs['apps']['versions'][number];

type Actions = {
  /** Undefined for users who may not change versions. */
  onLoad: ((version: string) => void) | undefined;
  onRollback: ((version: string) => void) | undefined;
  isBusy: boolean;
};

type Props = Actions & { versions: Version[]; hasMore: boolean; onMore: () => void };

export const VersionsTable = ({ versions, hasMore, onMore, ...actions }: Props) => (
  <VirtualTable
    label="Versions"
    columns={actions.onLoad ? [...COLUMNS, actionColumn(actions)] : COLUMNS}
    rows={versions}
    keyOf={({ id }) => id}
    hasMore={hasMore}
    onMore={onMore}
  />
);

const COLUMNS: Column<Version>[] = [
  { heading: 'Version', width: '1.6fr', cell: (version) => <VersionCell version={version} /> },
  { heading: 'Last fetched', width: '2.5fr', cell: (version) => <FetchCell version={version} /> },
  { heading: 'Last loaded', width: '2.5fr', cell: ({ loads }) => <LoadCell loads={loads} /> },
];

const VersionCell = ({ version: { version, is_current, is_staged, sha256 } }: { version: Version }) => (
  <Group gap="xs" wrap="nowrap" title={`SHA-256 ${sha256}`}>
    {version}
    {is_current && <StatusText label="Running" color="green" />}
    {is_staged && !is_current && <StatusText label="Next load" color="yellow" />}
  </Group>
);

/** Client admins do not see who fetched a version. */
const FetchCell = ({ version: { fetched_at, fetched_by } }: { version: Version }) => (
  <span title={fetched_by}>
    <DateText date={fetched_at} />
    {fetched_by && ` by ${fetched_by}`}
  </span>
);

const LoadCell = ({ loads: [last] }: Pick<Version, 'loads'>) =>
  last ? (
    <span title={last.loaded_by}>
      <DateText date={last.loaded_at} />
      {last.is_rollback && ', rolled back'} by {last.loaded_by}
    </span>
  ) : (
    'Never'
  );

const actionColumn = ({ onLoad, onRollback, isBusy }: Actions): Column<Version> => ({
  id: 'change',
  heading: <span className="visually-hidden">Change</span>,
  width: '8rem',
  onPhone: 'corner',
  cell: ({ version, is_current, is_staged, loads }) => {
    if (is_current) return null;
    const canLoad = is_staged;
    if (!canLoad && loads.length === 0) return null;
    return (
      <Button
        size="xs"
        variant="default"
        disabled={isBusy}
        aria-label={canLoad ? `Load ${version}` : `Roll back to ${version}`}
        onClick={() => (canLoad ? onLoad?.(version) : onRollback?.(version))}
      >
        {canLoad ? 'Load' : 'Roll back'}
      </Button>
    );
  },
});

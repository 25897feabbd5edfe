import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { memo, useState } from 'react';
import { trpc } from '../api.ts';
import { CHART_DAYS } from '../charts/chart-days.ts';
import { capitalized } from '../components/capitalized.ts';
import { FilterBar } from '../components/filter-bar.tsx';
import { FilterChip, FixedChip } from '../components/filter-chip.tsx';
import { mayDo, ROLES } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { DAYS_WITHOUT_USE, unusedApps } from '../views/views.ts';
import { ViewsMenu } from '../views/views-menu.tsx';
import { type PeopleFilter, peopleFilter } from './people-filter.ts';

/** Shorter than the time between two keys: the request for an outdated list is aborted. */
const TYPING_MS = 10;
const MAX_GROUPS = 200;

const choicesOf = (labels: Record<string, string>) =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

const STATES = choicesOf({ true: 'Active', false: 'Suspended' });
const FACTORS = choicesOf({ false: 'Without one', true: 'With one' });
const ROLE_CHOICES = choicesOf({
  ...Object.fromEntries(ROLES.map(({ name, plural }) => [name, capitalized(plural)])),
  member: 'Members',
});
const LAST_SEEN = DAYS_WITHOUT_USE.map((days) => ({ value: String(days), label: `Over ${days} days ago` }));
const notForText = (days: number): string => `Not for ${days} days`;
/** Totals by person are kept for at least 90 days. */
const APP_USES = [CHART_DAYS, 60, 90].map((days) => ({ value: String(days), label: notForText(days) }));
const LAST_LOGINS = choicesOf({
  never: 'Never',
  30: 'Over 30 days ago',
  90: 'Over 90 days ago',
  365: 'Over a year ago',
});

type ChipProps = { filter: PeopleFilter; onChange: (changes: Partial<PeopleFilter>) => void };
type Props = ChipProps & { columns: string };

/** Memoized: it does not depend on the loaded rows. */
export const PeopleFilters = memo(({ filter, columns, onChange }: Props) => (
  <FilterBar
    views={<ViewsMenu list="people" search={filter} kept={{ columns }} />}
    search={{
      label: 'Search people',
      placeholder: 'Name or email address',
      pauseMs: TYPING_MS,
      value: filter.search,
      onChange: (search) => onChange({ search }),
    }}
  >
    <FilterChip
      label="Status"
      choices={STATES}
      value={textOf(filter.is_active)}
      onChange={(value) => onChange({ is_active: value === undefined ? undefined : value === 'true' })}
    />
    <AppChip filter={filter} onChange={onChange} />
    <AppUseChip filter={filter} onChange={onChange} />
    <GroupChip filter={filter} onChange={onChange} />
    <FilterChip
      label="Role"
      choices={ROLE_CHOICES}
      value={filter.role}
      onChange={(role) => onChange(peopleFilter({ ...filter, role }))}
    />
    <FilterChip
      label="Last seen"
      choices={LAST_SEEN}
      value={textOf(filter.unseen_days)}
      onChange={(value) => onChange({ unseen_days: value === undefined ? undefined : Number(value) })}
    />
    <FilterChip
      label="Last login"
      choices={LAST_LOGINS}
      value={filter.never_logged_in ? 'never' : textOf(filter.idle_days)}
      onChange={(value) =>
        onChange({
          never_logged_in: value === 'never' ? true : undefined,
          idle_days: value === undefined || value === 'never' ? undefined : Number(value),
        })
      }
    />
    <FactorChip filter={filter} onChange={onChange} />
    {filter.password_expired !== undefined && (
      <FixedChip label="Password" onClear={() => onChange({ password_expired: undefined })}>
        Password: {filter.password_expired ? 'expired' : 'valid'}
      </FixedChip>
    )}
    {filter.unseen_days !== undefined && (
      <Link
        className="action-link"
        to="/apps"
        search={{ client: filter.client, ...unusedApps(filter.unseen_days) }}
      >
        Apps not used for {filter.unseen_days} days
      </Link>
    )}
  </FilterBar>
));

const textOf = (value: number | boolean | undefined): string | undefined =>
  value === undefined ? undefined : String(value);

/** For users who may change accounts: others must not know about second factors. */
const FactorChip = ({ filter, onChange }: ChipProps) =>
  mayDo(useSession().roles, 'manage-credentials') && (
    <FilterChip
      label="Second factor"
      choices={FACTORS}
      value={textOf(filter.second_factor)}
      onChange={(value) => onChange({ second_factor: value === undefined ? undefined : value === 'true' })}
    />
  );

/** The apps are loaded on demand. */
const AppChip = ({ filter, onChange }: ChipProps) => {
  const [isOpened, setOpened] = useState(false);
  const enabled = isOpened || filter.app !== undefined;
  const apps = useQuery(trpc.apps.list.queryOptions({ client: filter.client }, { enabled }));
  return (
    <FilterChip
      label="App"
      choices={apps.data?.map(({ slug, label }) => ({ value: slug, label }))}
      value={filter.app}
      onChange={(app) => onChange({ app, ...(app === undefined && { app_unused_days: undefined }) })}
      onOpen={() => setOpened(true)}
    />
  );
};

/** People who have the app of the filter and did not use it. */
const AppUseChip = ({ filter: { app, app_unused_days: days }, onChange }: ChipProps) =>
  app !== undefined && (
    <FilterChip
      label="Used"
      choices={APP_USES}
      value={textOf(days)}
      text={days === undefined ? undefined : notForText(days)}
      onChange={(value) => onChange({ app_unused_days: value === undefined ? undefined : Number(value) })}
    />
  );

/** Groups belong to a client: the one of the filter, or the only one. */
const GroupChip = ({ filter, onChange }: ChipProps) => {
  const [isOpened, setOpened] = useState(false);
  const clients = useQuery(trpc.clients.list.queryOptions({})).data ?? [];
  const client = filter.client ?? (clients.length === 1 ? clients[0]?.id : undefined);
  const enabled = client !== undefined && (isOpened || filter.group !== undefined);
  const groups = useQuery(trpc.groups.list.queryOptions({ id: client ?? 0, limit: MAX_GROUPS }, { enabled }));
  if (client === undefined && filter.group === undefined) return null;
  return (
    <FilterChip
      label="Group"
      choices={groups.data?.map(({ id, name }) => ({ value: String(id), label: name }))}
      value={textOf(filter.group)}
      onChange={(group) => onChange({ group: group === undefined ? undefined : Number(group) })}
      onOpen={() => setOpened(true)}
    />
  );
};

import { Group, SegmentedControl } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { ScreenHeader } from '../components/screen-header.tsx';
import { oneOf } from '../components/search-params.ts';
import { IdleApps } from './idle-apps.tsx';
import { DAYS_OF, IDLE_DAYS, IDLE_KINDS, type IdleFilter } from './idle-filter.ts';
import { IdlePeople, PeopleLink } from './idle-people.tsx';

const LABELS = { people: 'People', apps: 'Apps' };
const route = getRouteApi('/idle');

/** People and apps without any use for a number of days. */
export const IdleScreen = () => {
  const filter = route.useSearch();
  const { kind = 'people', client } = filter;
  const { days = DAYS_OF[kind] } = filter;
  const navigate = route.useNavigate();
  const change = (changes: Partial<IdleFilter>): void => {
    void navigate({ search: { ...filter, ...changes }, replace: true });
  };
  return (
    <>
      <ScreenHeader
        title="Inactive"
        lead={
          kind === 'people'
            ? `People who neither logged in nor used an app for ${days} days, and still may.`
            : `Apps that no one used for ${days} days.`
        }
        actions={kind === 'people' && <PeopleLink days={days} client={client} />}
      />
      <Group mb="md">
        <SegmentedControl
          aria-label="What is listed"
          data={IDLE_KINDS.map((value) => ({ value, label: LABELS[value] }))}
          value={kind}
          onChange={(value) => change({ kind: oneOf(value, IDLE_KINDS) })}
        />
        <SegmentedControl
          aria-label="Days without use"
          data={IDLE_DAYS.map((count) => ({ value: String(count), label: `${count} days` }))}
          value={String(days)}
          onChange={(value) => change({ days: Number(value) })}
        />
      </Group>
      {kind === 'people' ? (
        <IdlePeople days={days} client={client} />
      ) : (
        <IdleApps days={days} client={client} />
      )}
    </>
  );
};

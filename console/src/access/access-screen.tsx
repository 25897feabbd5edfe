import { Button, Checkbox, Group, Popover, ScrollArea, Skeleton, Stack, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { EmptyState } from '../components/empty-state.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { notify } from '../components/toasts.ts';
import { useUnsavedWork } from '../components/unsaved-work.ts';
import { useOneClient } from '../layout/client-choice.ts';
import { NoPeopleYet } from '../people/no-people-yet.tsx';
import { AccessMatrix } from './access-matrix.tsx';
import { type AccessFilter, accessQuery } from './access-query.ts';
import { useCellFocus } from './cell-focus.ts';
import { useShownGroups } from './group-columns.tsx';
import { SaveBar } from './save-bar.tsx';
import { type AccessUser, useCells } from './use-cells.ts';

/** The maximum number of cells in one request. */
const MAX_CELLS = 5_000;
const TYPING_MS = 150;
const route = getRouteApi('/access');

/** Who may open which app of a client: people as rows, apps as columns. */
export const AccessScreen = () => {
  const { client } = useOneClient();
  if (!client)
    return (
      <>
        <ScreenHeader title="Access" />
        <EmptyState title="There are no clients yet">Create one first.</EmptyState>
      </>
    );
  // Changes for one client must not be saved for another one.
  return <ClientAccess key={client.id} client={client} />;
};

type Client = { id: number; name: string };

const ClientAccess = ({ client }: { client: Client }) => {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const cells = useCells();
  const focus = useCellFocus();
  useUnsavedWork(cells.changes.length > 0);
  const matrix = useInfiniteQuery(accessQuery(client.id, filter.search));
  const loadAll = async (): Promise<AccessUser[]> => {
    let { data, hasNextPage, isError } = matrix;
    while (hasNextPage && !isError && usersIn(data).length < MAX_CELLS)
      ({ data, hasNextPage, isError } = await matrix.fetchNextPage({ cancelRefetch: false }));
    // The error is shown above the matrix.
    if (isError) return [];
    if (hasNextPage)
      notify(`Set for the first ${MAX_CELLS.toLocaleString()} people. Search to find the others.`);
    return usersIn(data);
  };
  const change = (changes: AccessFilter): void => {
    void navigate({ search: { ...filter, ...changes }, replace: true });
  };
  const search = useDebouncedCallback(
    (text: string) => change({ search: text.trim() || undefined }),
    TYPING_MS,
  );

  const [isReview, setReview] = useState(false);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const loaded = usersIn(matrix.data);
  const allApps = matrix.data?.pages[0]?.apps ?? [];
  const { changes } = cells;
  const reviews = isReview && changes.length > 0;
  const changed = new Set(reviews ? changes.flatMap(({ email, app_id }) => [email, app_id]) : []);
  const users = reviews ? loaded.filter(({ email }) => changed.has(email)) : loaded;
  const apps = allApps.filter(({ id }) => (reviews ? changed.has(id) : !hidden.has(id)));
  const groups = matrix.data?.pages[0]?.groups ?? [];
  const columns = useShownGroups(groups);
  return (
    <>
      <ScreenHeader title="Access" lead={`Who may open which app of ${client.name}, and why.`} />
      <Group mb="md">
        <TextInput
          type="search"
          aria-label="Search people"
          placeholder="Name or email address"
          leftSection={<IconSearch size={16} stroke={1.6} aria-hidden />}
          flex={{ base: '1 1 100%', sm: '1 1 9rem' }}
          maw={{ sm: 300 }}
          defaultValue={filter.search}
          onChange={({ currentTarget: { value } }) => search(value)}
        />
        <ColumnChoice
          name="Apps"
          options={allApps.map(({ id, label }) => ({ value: id, label }))}
          chosen={allApps.flatMap(({ id }) => (hidden.has(id) ? [] : [id]))}
          onChoose={(ids) => setHidden(new Set(allApps.flatMap(({ id }) => (ids.includes(id) ? [] : [id]))))}
        />
        <ColumnChoice
          name="Groups"
          options={groups.map(({ id, name }) => ({ value: String(id), label: name }))}
          chosen={columns.ids.map(String)}
          onChoose={(ids) => columns.choose(ids.map(Number))}
        />
      </Group>
      <SaveBar
        clientId={client.id}
        cells={cells}
        isReview={reviews}
        onReview={setReview}
        onEnd={focus.back}
      />
      <ProblemAlert error={matrix.error} />
      {matrix.isPending && <Skeleton height={400} />}
      {matrix.isSuccess && loaded.length === 0 && filter.search !== undefined && (
        <EmptyState title="No one matches">Change the search, or invite someone.</EmptyState>
      )}
      {matrix.isSuccess && loaded.length === 0 && filter.search === undefined && (
        <NoPeopleYet client={client.id} />
      )}
      {users.length > 0 && (
        <AccessMatrix
          users={users}
          apps={apps}
          groups={reviews ? [] : columns.shown}
          client={client.id}
          cells={cells}
          focus={focus}
          hasMore={!reviews && matrix.hasNextPage && !matrix.isFetchingNextPage}
          onMore={() => void matrix.fetchNextPage()}
          onAll={loadAll}
        />
      )}
    </>
  );
};

const usersIn = (data: { pages: readonly { users: AccessUser[] }[] } | undefined): AccessUser[] =>
  data?.pages.flatMap((page) => page.users) ?? [];

type ColumnChoiceProps = {
  /** The kind of columns: `Groups`. */
  name: string;
  options: readonly { value: string; label: string }[];
  chosen: readonly string[];
  onChoose: (chosen: string[]) => void;
};

/** Chooses which columns of one kind the matrix shows. */
const ColumnChoice = ({ name, options, chosen, onChoose }: ColumnChoiceProps) =>
  options.length === 0 ? null : (
    <Popover position="bottom-end" trapFocus withinPortal>
      <Popover.Target>
        <Button variant="default">
          {name}: {chosen.length} of {options.length}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <ScrollArea.Autosize mah="50vh">
          <Checkbox.Group aria-label={`${name} shown as columns`} value={[...chosen]} onChange={onChoose}>
            <Stack gap="xs" p={4}>
              {options.map(({ value, label }) => (
                <Checkbox key={value} value={value} label={label} />
              ))}
            </Stack>
          </Checkbox.Group>
        </ScrollArea.Autosize>
      </Popover.Dropdown>
    </Popover>
  );

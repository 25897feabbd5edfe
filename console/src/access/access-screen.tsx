import { Button, Checkbox, Group, Popover, ScrollArea, Skeleton, Stack, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { BarButton, FloatingBar } from '../components/floating-bar.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { notify } from '../components/toasts.ts';
import { useUnsavedWork } from '../components/unsaved-work.ts';
import { useAccessRefresh } from '../live/use-access-refresh.ts';
import { NoPeopleYet } from '../people/no-people-yet.tsx';
import { useUndoElsewhere } from '../people/undo-offer.ts';
import { useUndo } from '../people/use-bulk-update.ts';
import { useIsOver } from '../server-clock.ts';
import { useOneClient } from '../session/client-choice.ts';
import { AccessMatrix } from './access-matrix.tsx';
import { type AccessFilter, accessQuery } from './access-query.ts';
import { useCellFocus } from './cell-focus.ts';
import { useShownGroups } from './group-columns.tsx';
import { type AccessUser, type Cells, useCells } from './use-cells.ts';

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

type Props = {
  clientId: number;
  cells: Cells;
  /** Whether the matrix shows only changed rows. */
  isReview: boolean;
  onReview: (isReview: boolean) => void;
  /** Called when a button disappears that may have the focus. */
  onEnd: () => void;
};
type Saved = Outputs['access']['update'];

/** Saves all changed cells with one request, and undoes the last save. */
const SaveBar = ({ clientId, cells, isReview, onReview, onEnd }: Props) => {
  const [saved, setSaved] = useState<Saved | null>(null);
  const refresh = useAccessRefresh();
  const save = useMutation(
    trpc.access.update.mutationOptions({
      onSuccess: async (result, sent) => {
        setSaved(result);
        // Before the changes are cleared: until then, the matrix shows the old cells.
        await refresh();
        cells.settle(sent.cells);
        onEnd();
      },
    }),
  );
  const undo = useUndo();
  const savedText = saved && `Saved ${saved.changed.toLocaleString()}.`;
  const canUndo = !undo.isPending && !undo.isSuccess;
  useUndoElsewhere(`Access: ${savedText}`, saved?.operation ?? '', (canUndo && saved?.undo_until) || null);
  const isOver = useIsOver(saved?.undo_until ?? null);
  const count = cells.changes.length;
  const close = (): void => {
    setSaved(null);
    onEnd();
  };
  const discard = (): void => {
    cells.clear();
    onEnd();
  };
  const undoSave = (operation: string): void =>
    undo.mutate(operation, {
      onSuccess: async () => {
        await refresh();
        close();
      },
    });
  return (
    <>
      <ProblemAlert error={save.error ?? undo.error} />
      {count > 0 && (
        <FloatingBar label="Changes of access">
          <span role="status">{summaryOf(cells)}</span>
          <BarButton
            loading={save.isPending}
            onClick={() => save.mutate({ id: clientId, cells: cells.changes })}
          >
            Save
          </BarButton>
          <BarButton aria-pressed={isReview} onClick={() => onReview(!isReview)}>
            {isReview ? 'Show everything' : 'Show only changes'}
          </BarButton>
          <BarButton onClick={discard}>Discard</BarButton>
        </FloatingBar>
      )}
      {count === 0 && saved && (
        <FloatingBar label="Saved changes of access">
          <span role="status">{savedText}</span>
          {!isOver && (
            <BarButton loading={undo.isPending} onClick={() => undoSave(saved.operation)}>
              Undo
            </BarButton>
          )}
          <BarButton onClick={close}>Close</BarButton>
        </FloatingBar>
      )}
    </>
  );
};

/** `3 changes: 2 granted, 1 revoked` */
const summaryOf = ({ changes }: Cells): string => {
  const granted = changes.filter((cell) => cell.granted).length;
  const revoked = changes.length - granted;
  const parts = [
    granted > 0 && `${granted.toLocaleString()} granted`,
    revoked > 0 && `${revoked.toLocaleString()} revoked`,
  ];
  const count = changes.length === 1 ? '1 change' : `${changes.length.toLocaleString()} changes`;
  return `${count}: ${parts.filter(Boolean).join(', ')}`;
};

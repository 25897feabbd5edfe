import { Button, Checkbox, Menu, Stack, Text, TextInput } from '@mantine/core';
import { IconBookmark, IconCheck, IconChevronDown } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { steward, trpc } from '../api.ts';
import { ActionDialog } from '../components/action-dialog.tsx';
import { useClients } from '../components/client-select.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { messageOf } from '../components/screen-error.tsx';
import { notify } from '../components/toasts.ts';
import { useSession } from '../session/use-session.ts';
import {
  builtInViews,
  isBuiltIn,
  isSameSearch,
  type List,
  type ListSearch,
  PATHS,
  storedSearch,
  useSearchOf,
  useViews,
  type View,
} from './views.ts';

type Props = {
  list: List;
  /** As in the address. */
  search: ListSearch;
  /** What a view keeps in addition, such as the shown columns. */
  kept?: Record<string, string>;
};

/** At the start of a list's filter: opens, saves, shares and pins views of the list. */
export const ViewsMenu = ({ list, search, kept = {} }: Props) => {
  const { roles } = useSession();
  const clients = useClients();
  const navigate = useNavigate();
  const searchOf = useSearchOf();
  const [dialog, setDialog] = useState<'save' | 'rename' | 'delete' | null>(null);
  const client =
    clients.find(({ id }) => id === search.client) ?? (clients.length === 1 ? clients[0] : undefined);
  const views = useViews(list, search.client);
  const builtIn = builtInViews(list, roles);
  const saved = views.find(({ id }) => id === search.view);
  // A search within a view is no other view.
  const shown = saved ? undefined : builtIn.find((view) => isBuiltIn(view, { ...search, search: undefined }));
  const isChanged = saved !== undefined && !isSameSearch(saved.search, search);
  const { change, pin, remove } = useViewChanges();
  const go = (to: ListSearch): void => void navigate({ to: PATHS[list], search: to });
  const name = saved?.name ?? shown?.name ?? 'Custom view';
  const close = (): void => setDialog(null);
  const leave = (): void => {
    close();
    go({ client: search.client });
  };
  return (
    <>
      {/* In the landmark of its button, for screen readers. */}
      <Menu position="bottom-start" width={264} withinPortal={false}>
        <Menu.Target>
          <Button
            variant="default"
            miw={132}
            maw={280}
            aria-label={`View: ${name}${isChanged ? ', changed' : ''}`}
            leftSection={<IconBookmark size={16} stroke={1.6} aria-hidden />}
            rightSection={<IconChevronDown size={14} aria-hidden />}
          >
            <Text span inherit truncate>
              {name}
            </Text>
            {isChanged && (
              <Text span fz="inherit" fw={400} c="dimmed">
                &nbsp;· changed
              </Text>
            )}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah="70vh" className="scrolls">
          {builtIn.map((view) => (
            <ViewItem
              key={view.name}
              name={view.name}
              isShown={view === shown}
              onClick={() => go({ ...view.search, client: search.client })}
            />
          ))}
          {views.length > 0 && <Menu.Divider />}
          {views.map((view) => (
            <ViewItem
              key={view.id}
              name={view.name}
              isShared={view.is_shared}
              isShown={view === saved}
              onClick={() => go(searchOf(view, search.client))}
            />
          ))}
          <Menu.Divider />
          {saved?.can_change && isChanged && (
            <Menu.Item
              onClick={() =>
                change.mutate(
                  { id: saved.id, search: { ...storedSearch(search), ...kept } },
                  { onSuccess: (view) => go(searchOf(view, search.client)) },
                )
              }
            >
              Update “{saved.name}”
            </Menu.Item>
          )}
          <Menu.Item onClick={() => setDialog('save')}>Save as view…</Menu.Item>
          {saved && (
            <Menu.Item onClick={() => pin.mutate({ id: saved.id, is_pinned: !saved.is_pinned })}>
              {saved.is_pinned ? 'Unpin from navigation' : 'Pin to navigation'}
            </Menu.Item>
          )}
          {saved?.can_change && (
            <>
              <Menu.Item onClick={() => setDialog('rename')}>Rename…</Menu.Item>
              <ShareItem
                view={saved}
                client={clients.find(({ id }) => id === saved.client) ?? client}
                onShare={(is_shared, of) => change.mutate({ id: saved.id, is_shared, client: of })}
              />
              <Menu.Item c="var(--mantine-color-error)" onClick={() => setDialog('delete')}>
                Delete…
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      {dialog === 'save' && (
        <SaveDialog
          list={list}
          search={{ ...storedSearch(search), ...kept }}
          client={client}
          onSaved={(view) => go(searchOf(view, search.client))}
          onClose={close}
        />
      )}
      {dialog === 'rename' && saved && <RenameDialog view={saved} onClose={close} />}
      <ActionDialog
        isOpen={dialog === 'delete' && saved !== undefined}
        title={`Delete the view “${name}”?`}
        action="Delete view"
        isDanger
        run={() => saved && remove.mutate({ id: saved.id }, { onSuccess: leave })}
        state={remove}
        onClose={close}
      >
        {saved?.is_shared
          ? 'Everyone it is shared with loses it, too. The list itself does not change.'
          : 'The list itself does not change.'}
      </ActionDialog>
    </>
  );
};

type ItemProps = { name: string; isShown: boolean; isShared?: boolean; onClick: () => void };

const ViewItem = ({ name, isShown, isShared = false, onClick }: ItemProps) => (
  <Menu.Item
    onClick={onClick}
    aria-current={isShown || undefined}
    leftSection={<IconCheck size={16} stroke={1.8} aria-hidden visibility={isShown ? 'visible' : 'hidden'} />}
    rightSection={
      isShared && (
        <Text span size="xs" c="dimmed">
          Shared
        </Text>
      )
    }
  >
    <Text span fz="inherit" display="block" truncate maw={isShared ? 140 : 190} title={name}>
      {name}
    </Text>
  </Menu.Item>
);

type Client = { id: number; name: string };
type ShareProps = {
  view: View;
  /** Undefined while the list shows several clients. */
  client: Client | undefined;
  onShare: (isShared: boolean, client: number) => void;
};

const ShareItem = ({ view, client, onShare }: ShareProps) =>
  client && (
    <Menu.Item onClick={() => onShare(!view.is_shared, client.id)}>
      {view.is_shared ? `Stop sharing in ${client.name}` : `Share with admins of ${client.name}`}
    </Menu.Item>
  );

/** Changes of saved views. A failure is shown as a message. */
const useViewChanges = () => {
  const queryClient = useQueryClient();
  const onSettled = () => queryClient.invalidateQueries(trpc.listViews.pathFilter());
  const onError = (error: unknown): void => notify(messageOf(error), { isFailure: true });
  return {
    change: useMutation(trpc.listViews.update.mutationOptions({ onSettled, onError })),
    pin: useMutation(trpc.listViews.pin.mutationOptions({ onSettled, onError })),
    remove: useMutation(trpc.listViews.remove.mutationOptions({ onSettled })),
  };
};

type SaveProps = {
  list: List;
  search: Record<string, unknown>;
  client: Client | undefined;
  onSaved: (view: View) => void;
  onClose: () => void;
};

const SaveDialog = ({ list, search, client, onSaved, onClose }: SaveProps) => {
  const queryClient = useQueryClient();
  const [name, setName] = useState('');
  const [isShared, setShared] = useState(false);
  const [isPinned, setPinned] = useState(false);
  const save = useMutation({
    mutationFn: async () => {
      const view = { list, name: name.trim(), search, client: client?.id ?? null, is_shared: isShared };
      const created = await steward.api.listViews.create.mutate(view);
      if (!isPinned) return created;
      return steward.api.listViews.pin.mutate({ id: created.id, is_pinned: true });
    },
    onSuccess: async (view) => {
      await queryClient.invalidateQueries(trpc.listViews.pathFilter());
      onClose();
      onSaved(view);
    },
  });
  return (
    <NameDialog
      title="Save view"
      action="Save view"
      name={name}
      onName={setName}
      state={save}
      run={save.mutate}
      onClose={onClose}
    >
      <Checkbox
        label="Pin to navigation"
        checked={isPinned}
        onChange={({ currentTarget }) => setPinned(currentTarget.checked)}
      />
      {client && (
        <Checkbox
          label={`Share with admins of ${client.name}`}
          description="Everyone who sees this list there gets the view. You and admins can change it."
          checked={isShared}
          onChange={({ currentTarget }) => setShared(currentTarget.checked)}
        />
      )}
    </NameDialog>
  );
};

const RenameDialog = ({ view, onClose }: { view: View; onClose: () => void }) => {
  const queryClient = useQueryClient();
  const [name, setName] = useState(view.name);
  const rename = useMutation(
    trpc.listViews.update.mutationOptions({
      onSuccess: async () => {
        await queryClient.invalidateQueries(trpc.listViews.pathFilter());
        onClose();
      },
    }),
  );
  return (
    <NameDialog
      title="Rename view"
      action="Rename"
      name={name}
      onName={setName}
      state={rename}
      run={() => rename.mutate({ id: view.id, name: name.trim() })}
      onClose={onClose}
    />
  );
};

type NameProps = {
  title: string;
  action: string;
  name: string;
  onName: (name: string) => void;
  state: { isPending: boolean; error: unknown };
  run: () => void;
  onClose: () => void;
  children?: React.ReactNode;
};

const NameDialog = ({ title, action, name, onName, state, run, onClose, children }: NameProps) => (
  <Dialog isOpen title={title} onClose={onClose}>
    <form
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        run();
      }}
    >
      <Stack>
        <ProblemAlert error={state.error} />
        <TextInput
          label="Name"
          data-autofocus
          required
          maxLength={100}
          value={name}
          onChange={({ currentTarget }) => onName(currentTarget.value)}
        />
        {children}
        <DialogButtons
          action={action}
          onClose={onClose}
          isPending={state.isPending}
          isDisabled={name.trim() === ''}
        />
      </Stack>
    </form>
  </Dialog>
);

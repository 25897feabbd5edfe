import { Alert, Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { type Outputs, steward, trpc } from '../api.ts';
import type { App } from '../apps/app-of.ts';
import { browserName } from '../components/browser-name.ts';
import { Changes } from '../components/changes.tsx';
import type { Column } from '../components/column.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { DateText } from '../components/date-text.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { DisclosureButton } from '../components/disclosure-button.tsx';
import { FactList } from '../components/fact-list.tsx';
import { FormButtons } from '../components/form-buttons.tsx';
import { joined } from '../components/form-fields.ts';
import { useIdempotencyKeys } from '../components/idempotency-key.ts';
import { objectFault } from '../components/json-object.ts';
import { PagedTable } from '../components/paged-table.tsx';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenTabs } from '../components/screen-tabs.tsx';
import { SecretField } from '../components/secret-field.tsx';
import { notify } from '../components/toasts.ts';
import { serverNow } from '../server-clock.ts';
import {
  audienceOf,
  changesOf,
  frameOf,
  inputOf,
  isManaged,
  type LinkValues,
  NEW_LINK,
  type ShareLink,
  settingsOf,
  stateOf,
  titleOf,
  usesOf,
  valuesOf,
} from './share-link.ts';
import { faultsByField, LinkFields, VALIDATE } from './share-link-form.tsx';

/** Loads again what shows share links. */
export const useLinksRefresh = () => {
  const queryClient = useQueryClient();
  return async (): Promise<void> => {
    void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
    await queryClient.invalidateQueries(trpc.accessViews.pathFilter());
  };
};

/** Whether the text is in the clipboard now. Browsers may refuse, and sites without HTTPS have none. */
export const copyText = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
};

type NewProps = {
  app: App;
  isOpen: boolean;
  onClose: () => void;
  onCreated: (id: number, isCopied: boolean) => void;
};

/** Creates a share link, and copies it. */
export const NewLinkDialog = ({ app, isOpen, onClose, onCreated }: NewProps) => {
  const refresh = useLinksRefresh();
  const keys = useIdempotencyKeys();
  const form = useForm({ initialValues: NEW_LINK, validate: VALIDATE });
  const { onError, prompt } = usePasswordConfirmation();
  const create = useMutation({
    mutationFn: (input: ReturnType<typeof inputOf>) =>
      steward.api.accessViews.create.mutate(input, { context: { idempotencyKey: keys.keyOf(input) } }),
    onSuccess: async ({ id, url }) => {
      const isCopied = await copyText(url);
      keys.forget();
      form.reset();
      await refresh();
      onCreated(id, isCopied);
    },
    onError: (error, input) => {
      form.setErrors(faultsByField(joined(fieldErrors(error))));
      onError(error, () => create.mutate(input));
    },
  });
  const isFieldError = Object.keys(fieldErrors(create.error)).length > 0;
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={`New share link of ${app.label}`} size="lg" isSticky>
      <form
        noValidate
        onSubmit={form.onSubmit((values) => create.mutate(inputOf(app.slug, values, new Date(serverNow()))))}
      >
        <Stack>
          <LinkFields app={app} form={form} error={create.error} />
          {!isFieldError && <ProblemAlert error={withoutConfirmation(create.error)} />}
          <DialogButtons action="Create and copy" isPending={create.isPending} onClose={onClose} />
        </Stack>
      </form>
      {prompt}
    </Dialog>
  );
};

type DialogProps = { app: App; link: ShareLink; isNew: boolean; isCopied: boolean; onClose: () => void };
type Part = 'link' | 'settings' | 'uses';

/** A share link, its settings for users who may change them, and its uses. */
export const LinkDialog = ({ app, link, isNew, isCopied, onClose }: DialogProps) => {
  const [part, show] = useState<Part>('link');
  const isEditable = isManaged(link);
  return (
    <Dialog isOpen onClose={onClose} title={titleOf(link)} size="xl" isSticky>
      <ScreenTabs
        label="Parts of the share link"
        value={part}
        onShow={show}
        tabs={[
          {
            value: 'link' as const,
            label: 'Link',
            panel: (
              <Stack>
                {isNew && (
                  <Alert color="green" variant="light" role="status">
                    {isCopied ? 'Link created and copied.' : 'Link created. Copy it below.'}
                  </Alert>
                )}
                <LinkPart link={link} />
              </Stack>
            ),
          },
          ...(isEditable
            ? [
                {
                  value: 'settings' as const,
                  label: 'Settings',
                  panel: <SettingsForm app={app} link={link} />,
                  isKept: true,
                },
              ]
            : []),
          { value: 'uses' as const, label: `Uses (${link.usages_cnt})`, panel: <LinkUses link={link} /> },
        ]}
      />
    </Dialog>
  );
};

const REVIVALS: Record<string, string> = {
  off: 'The link is switched off.',
  expired: 'The link has ended. Choose a later end in Settings to use it again.',
  'used up': 'The link has no uses left. Allow more uses in Settings to use it again.',
  'person inactive': 'The link does not work, because its person is inactive.',
};

const LinkPart = ({ link }: { link: ShareLink }) => {
  const state = stateOf(link);
  const [isHtml, showHtml] = useState(false);
  return (
    <>
      {isManaged(link) && state === 'active' && (
        <>
          <SecretField label="Link" value={link.url} />
          <Group gap="xs">
            <Anchor href={link.url} target="_blank" rel="noreferrer" size="sm">
              Open the link
            </Anchor>
            <Text c="dimmed" size="sm">
              This counts as a use.
            </Text>
          </Group>
        </>
      )}
      {state !== 'active' && <Text>{REVIVALS[state]}</Text>}
      {!isManaged(link) && (
        <Text c="dimmed">
          Anyone with the link can open the app, so only people who manage the link see it.
        </Text>
      )}
      <FactList facts={factsOf(link)} />
      {isManaged(link) && state === 'active' && (
        <>
          <div>
            <DisclosureButton isOpen={isHtml} onToggle={() => showHtml(!isHtml)}>
              Show the app in another page
            </DisclosureButton>
          </div>
          {isHtml && <SecretField label="HTML for another page" value={frameOf(link)} isSecondary />}
        </>
      )}
      {isManaged(link) && <LinkActions link={link} />}
    </>
  );
};

const factsOf = (link: ShareLink): [string, ReactNode][] => {
  const { user, person_name: name, allowed_networks: networks } = link;
  return [
    ['Opens the app for', user && name ? `${name}, ${user}` : audienceOf(link)],
    ['Works until', <DateText key="end" date={link.expires_at} none="Someone switches it off" />],
    ['Uses', usesOf(link)],
    ['Last use', <DateText key="last" date={link.last_used} none="Never" />],
    ['Works from', networks === '' ? 'Anywhere' : networks.split(',').join(', ')],
    ['After each use', link.autorotate ? 'The link changes' : 'The link stays the same'],
    ['Created', <DateText key="created" date={link.created} />],
  ];
};

/** Switches a link off and on, and replaces it. */
const LinkActions = ({ link }: { link: ShareLink }) => {
  const refresh = useLinksRefresh();
  const [asked, ask] = useState<'off' | 'replace' | null>(null);
  const { onError, prompt } = usePasswordConfirmation();
  const key = String(link.id);
  const turn = useMutation({
    mutationFn: async (isActive: boolean) => {
      if (isActive) await steward.api.accessViews.update.mutate({ key, is_active: true });
      else await steward.api.accessViews.deactivate.mutate({ key });
    },
    onSuccess: async (_nothing, isActive) => {
      notify(isActive ? 'Share link switched on.' : 'Share link switched off.');
      await refresh();
    },
    onError: (error, isActive) => onError(error, () => turn.mutate(isActive)),
  });
  const replace = useMutation({
    mutationFn: () => steward.api.accessViews.rotateKey.mutate({ key }),
    onSuccess: async ({ url }) => {
      notify((await copyText(url)) ? 'The new link is copied.' : 'The link is replaced. Copy the new one.');
      await refresh();
    },
  });
  const faults = Object.values(fieldErrors(turn.error)).flat();
  return (
    <>
      {faults.length > 0 ? (
        <Text c="var(--mantine-color-error)" size="sm" role="alert">
          {faults.join(' ')}
        </Text>
      ) : (
        <ProblemAlert error={withoutConfirmation(turn.error) ?? replace.error} />
      )}
      <Group justify="flex-end">
        <Button variant="default" loading={replace.isPending} onClick={() => ask('replace')}>
          Replace the link…
        </Button>
        {link.is_active ? (
          <Button variant="default" loading={turn.isPending} onClick={() => ask('off')}>
            Switch off…
          </Button>
        ) : (
          <Button variant="default" loading={turn.isPending} onClick={() => turn.mutate(true)}>
            Switch on
          </Button>
        )}
      </Group>
      <ConfirmModal
        isOpen={asked === 'off'}
        title="Switch off the share link?"
        action="Switch off"
        onConfirm={() => turn.mutate(false)}
        onClose={() => ask(null)}
      >
        <Text>
          The link stops working, and people who opened the app with it lose it at their next request. You can
          switch it on again.
        </Text>
      </ConfirmModal>
      <ConfirmModal
        isOpen={asked === 'replace'}
        title="Replace the link with a new one?"
        action="Replace"
        onConfirm={() => replace.mutate()}
        onClose={() => ask(null)}
      >
        <Text>
          Do this if the link reached the wrong people. The current link stops working at once, and everyone
          who uses it needs the new one. The settings stay.
        </Text>
      </ConfirmModal>
      {prompt}
    </>
  );
};

const SettingsForm = ({ app, link }: Pick<DialogProps, 'app' | 'link'>) => {
  const refresh = useLinksRefresh();
  const form = useForm({ initialValues: valuesOf(link), validate: VALIDATE });
  const { onError, prompt } = usePasswordConfirmation();
  const differences = (values: LinkValues) => {
    const now = new Date(serverNow());
    return changesOf(settingsOf(form.getInitialValues(), now), settingsOf(values, now));
  };
  const save = useMutation({
    mutationFn: (values: LinkValues) =>
      steward.api.accessViews.update.mutate({ key: String(link.id), ...differences(values).settings }),
    onSuccess: async (saved) => {
      const values = valuesOf({ ...link, ...saved });
      form.setInitialValues(values);
      form.setValues(values);
      form.resetDirty(values);
      await refresh();
    },
    onError: (error, values) => {
      form.setErrors(faultsByField(joined(fieldErrors(error))));
      onError(error, () => save.mutate(values));
    },
  });
  const isFieldError = Object.keys(fieldErrors(save.error)).length > 0;
  const values = form.getValues();
  const isShown =
    form.isDirty() &&
    objectFault(values.data_permissions) === null &&
    objectFault(values.selections) === null;
  return (
    <form noValidate onSubmit={form.onSubmit((values) => save.mutate(values))}>
      <Stack>
        <LinkFields app={app} form={form} error={save.error} isExisting />
        {isShown && (
          <Stack gap={2}>
            <Text size="sm" fw={600}>
              Changes
            </Text>
            <Changes details={differences(values).details} />
          </Stack>
        )}
        <FormButtons
          isDirty={form.isDirty()}
          isSaving={save.isPending}
          isSaved={save.isSuccess}
          problem={isFieldError ? null : withoutConfirmation(save.error)}
          onDiscard={form.reset}
        />
      </Stack>
      {prompt}
    </form>
  );
};

type Use = Outputs['accessViews']['uses'][number];

const PAGE_SIZE = 50;

/** The uses of a link, newest first. */
const LinkUses = ({ link }: { link: ShareLink }) => {
  const uses = useInfiniteQuery(
    trpc.accessViews.uses.infiniteQueryOptions(
      { key: String(link.id), limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  return (
    <PagedTable
      label="Uses"
      columns={useColumns(link)}
      pages={uses}
      keyOf={({ id }) => id}
      empty={<Text c="dimmed">No one has opened the link yet.</Text>}
    />
  );
};

const useColumns = ({ person_name: name }: ShareLink): Column<Use>[] => [
  { heading: 'Time', width: '9.5rem', cell: ({ timestamp }) => <DateText date={timestamp} /> },
  {
    heading: 'Person',
    width: '2fr',
    cell: ({ user_email: email }) =>
      email === null ? 'Guest' : name && email ? `${name}, ${email}` : email || 'Someone who has left',
  },
  {
    heading: 'Browser',
    width: '1fr',
    onPhone: 'half',
    cell: ({ user_agent: agent }) => <span title={agent}>{browserName(agent)}</span>,
  },
  { heading: 'IP address', width: '1fr', onPhone: 'half', cell: ({ ip_address: ip }) => ip || '–' },
];

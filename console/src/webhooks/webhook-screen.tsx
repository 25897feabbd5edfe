import { Button, CloseButton, Group, Menu, Stack, Text, TextInput, Title } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { wordsOf } from '../audit/audit-actions.ts';
import { useClientName } from '../components/client-select.tsx';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { dateOf } from '../components/date-text.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { FactList } from '../components/fact-list.tsx';
import { joined } from '../components/form-fields.ts';
import { Notice } from '../components/notice.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { StatusText } from '../components/status-text.tsx';
import { attemptText, Body, isDelivered } from './attempt.tsx';
import { Deliveries } from './deliveries.tsx';
import { SecretDialog } from './secret-dialog.tsx';
import { typesText } from './type-choices.ts';
import { useWebhookChanges, useWebhookRefresh } from './use-webhook-changes.ts';
import { WebhookDialog } from './webhook-dialog.tsx';
import { problemOf, type Webhook, WebhookState } from './webhook-state.tsx';

const route = getRouteApi('/webhooks/$id');

type Opened = 'edit' | 'replay' | 'rotate' | 'deactivate' | 'remove' | null;

/** A webhook: whether its events arrive, and its deliveries. */
export const WebhookScreen = () => {
  const id = Number(route.useParams().id);
  const webhook = useSuspenseQuery(trpc.webhooks.get.queryOptions({ id })).data;
  const [opened, setOpened] = useState<Opened>(null);
  const changes = useWebhookChanges(webhook);
  const { test, rotate } = changes;
  const problem = problemOf(webhook);
  const close = (): void => setOpened(null);
  return (
    <>
      <ScreenHeader
        title={new URL(webhook.url).host}
        lead={
          <Group component="span" gap="sm">
            <span className="break-words">{webhook.url}</span>
            <WebhookState webhook={webhook} />
          </Group>
        }
        actions={
          <>
            <Button variant="default" loading={test.isPending} onClick={() => test.mutate({ id })}>
              Send a test
            </Button>
            <Button variant="default" onClick={() => setOpened('edit')}>
              Edit
            </Button>
          </>
        }
        menu={<Items webhook={webhook} onOpen={setOpened} onActivate={() => changes.setActive(true)} />}
      />
      <ProblemAlert error={changes.error} />
      {problem !== null && (
        <Notice>
          <Group justify="space-between" wrap="nowrap">
            {problem}
            {!webhook.is_active && (
              <Button flex="none" loading={changes.isUpdating} onClick={() => changes.setActive(true)}>
                Activate
              </Button>
            )}
          </Group>
        </Notice>
      )}
      <Facts webhook={webhook} />
      <TestResult result={test.data} onClose={test.reset} />
      <Deliveries webhook={webhook} />
      {changes.prompt}
      <WebhookDialog webhook={webhook} isOpen={opened === 'edit'} onClose={close} />
      <ReplayDialog webhook={webhook} isOpen={opened === 'replay'} onClose={close} />
      <SecretDialog
        secret={rotate.data?.secret}
        previousUntil={rotate.data?.previous_until}
        onClose={rotate.reset}
      />
      <Questions {...{ opened, close }} changes={changes} id={id} />
    </>
  );
};

type ItemsProps = { webhook: Webhook; onOpen: (opened: Opened) => void; onActivate: () => void };

const Items = ({ webhook: { url, is_active: isActive, client }, onOpen, onActivate }: ItemsProps) => (
  <>
    <Menu.Item onClick={() => onOpen('replay')}>Replay events…</Menu.Item>
    <Menu.Item onClick={() => onOpen('rotate')}>Replace the secret…</Menu.Item>
    {isActive ? (
      <Menu.Item onClick={() => onOpen('deactivate')}>Deactivate…</Menu.Item>
    ) : (
      <Menu.Item onClick={onActivate}>Activate</Menu.Item>
    )}
    <Menu.Item
      renderRoot={(item) => (
        <Link
          {...item}
          to="/audit"
          search={{ target: new URL(url).host, ...(client !== null && { client }) }}
        />
      )}
    >
      History
    </Menu.Item>
    <Menu.Item color="red" onClick={() => onOpen('remove')}>
      Remove…
    </Menu.Item>
  </>
);

type QuestionsProps = {
  opened: Opened;
  close: () => void;
  changes: ReturnType<typeof useWebhookChanges>;
  id: number;
};

const Questions = ({ opened, close, changes, id }: QuestionsProps) => (
  <>
    <ConfirmModal
      isOpen={opened === 'rotate'}
      title="Replace the secret?"
      action="Replace"
      onConfirm={() => changes.rotate.mutate({ id })}
      onClose={close}
    >
      Events are signed with the new secret at once, and for 24 hours also with the current one.
    </ConfirmModal>
    <ConfirmModal
      isOpen={opened === 'deactivate'}
      title="Deactivate the webhook?"
      action="Deactivate"
      onConfirm={() => changes.setActive(false)}
      onClose={close}
    >
      It gets no events until you activate it, and waiting deliveries are dropped. You can replay both later.
    </ConfirmModal>
    <ConfirmModal
      isOpen={opened === 'remove'}
      title="Remove the webhook?"
      action="Remove"
      isDanger
      onConfirm={changes.remove}
      onClose={close}
    >
      No more events are sent there, and the list of its deliveries is deleted.
    </ConfirmModal>
  </>
);

const Facts = ({ webhook }: { webhook: Webhook }) => {
  const nameOfClient = useClientName();
  const { client, types, description, created_at: createdAt, created_by: createdBy } = webhook;
  const facts: [term: string, value: ReactNode][] = [
    ['Events of', nameOfClient(client) || 'The whole installation'],
    [
      'Events',
      <span key="events" title={types.map(wordsOf).join(', ')}>
        {types.length > 1 && types.length <= 3 ? types.join(', ') : typesText(types)}
      </span>,
    ],
    ['Created', `${dateOf(createdAt)}${createdBy === null ? '' : ` by ${createdBy}`}`],
  ];
  if (description !== '') facts.unshift(['Description', description]);
  return <FactList facts={facts} mb="md" />;
};

type Props = { result: Outputs['webhooks']['test'] | undefined; onClose: () => void };

/** The receiver's answer to a test. Announced to screen readers when it arrives. */
const TestResult = ({ result, onClose }: Props) => (
  <div role="status">
    {result && (
      <Stack className="card" gap="xs" mb="md">
        <Group justify="space-between">
          <Title order={2} size="h3">
            Test
          </Title>
          <CloseButton aria-label="Close the result of the test" onClick={onClose} />
        </Group>
        <StatusText
          color={isDelivered(result.status) ? 'green' : 'red'}
          label={result.status === null ? attemptText(result) : `Answered ${attemptText(result)}`}
        />
        {result.response !== null && <Body title="Response" text={result.response} />}
      </Stack>
    )}
  </div>
);

type ReplayDialogProps = { webhook: Webhook; isOpen: boolean; onClose: () => void };

/** Delivers all events since a time again. */
const ReplayDialog = ({ isOpen, ...props }: ReplayDialogProps) => (
  <Dialog isOpen={isOpen} onClose={props.onClose} title="Replay events">
    {isOpen && <ReplayForm {...props} />}
  </Dialog>
);

/** The format of an input for date and time, in the time zone of the browser: `2026-11-22T21:36`. */
const localTimeOf = (date: Date): string =>
  new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

const queuedText = (queued: number): string => {
  if (queued === 0) return 'There are no events to replay.';
  return queued === 1 ? '1 event is sent again.' : `${queued.toLocaleString()} events are sent again.`;
};

const ReplayForm = ({ webhook, onClose }: Omit<ReplayDialogProps, 'isOpen'>) => {
  const { id, disabled_at: disabledAt, failing_since: failingSince } = webhook;
  const missedFrom = disabledAt ?? failingSince;
  const [from, setFrom] = useState(missedFrom ? localTimeOf(missedFrom) : '');
  const refresh = useWebhookRefresh();
  const replay = useMutation(
    trpc.webhooks.replay.mutationOptions({
      onSuccess: ({ queued }) => {
        refresh(queuedText(queued));
        onClose();
      },
    }),
  );
  const invalid = joined(fieldErrors(replay.error)).from;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    replay.mutate({ id, from: new Date(from) });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text>
          This sends all its events since this time again, even those that arrived: up to 10,000, after those
          that already wait. They keep their ids.
        </Text>
        <TextInput
          type="datetime-local"
          label="Events since"
          required
          data-autofocus
          value={from}
          onChange={({ currentTarget }) => setFrom(currentTarget.value)}
          error={invalid}
        />
        {invalid === undefined && <ProblemAlert error={replay.error} />}
        <DialogButtons
          action="Replay"
          isPending={replay.isPending}
          isDisabled={from === ''}
          onClose={onClose}
        />
      </Stack>
    </form>
  );
};

import { Stack, Text, TextInput } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useWebhookRefresh } from './use-webhook-changes.ts';
import type { Webhook } from './webhook-state.tsx';

type Props = { webhook: Webhook; isOpen: boolean; onClose: () => void };

/** Delivers all events since a time again. */
export const ReplayDialog = ({ isOpen, ...props }: Props) => (
  <Dialog isOpen={isOpen} onClose={props.onClose} title="Replay events">
    {isOpen && <ReplayForm {...props} />}
  </Dialog>
);

/** The format of an input for date and time, in the time zone of the browser: `2026-11-22T21:36`. */
const localTimeOf = (date: Date): string =>
  new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

export const queuedText = (queued: number): string => {
  if (queued === 0) return 'There is no event to replay.';
  return queued === 1 ? '1 event is sent again.' : `${queued.toLocaleString()} events are sent again.`;
};

const ReplayForm = ({ webhook, onClose }: Omit<Props, 'isOpen'>) => {
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
          All events since this time that the webhook hears are sent again, also those that have arrived: up
          to 10,000, after those that wait already. They have the same ids as before.
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

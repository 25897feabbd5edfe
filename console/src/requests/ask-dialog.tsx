import { Select, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { DURATIONS, useOwnRequests } from './use-requests.ts';

export const MAX_REASON = 500;

const DEFAULT_DURATION = '2 weeks';

type Props = { app: { id: string; label: string }; onClose: () => void };

/** Asks the admins of the client for an app. */
export const AskDialog = ({ app, onClose }: Props) => {
  const [reason, setReason] = useState('');
  const [duration, setDuration] = useState(DEFAULT_DURATION);
  const { ask } = useOwnRequests(onClose);
  const days = DURATIONS.find(({ label }) => label === duration)?.days ?? null;
  return (
    <Dialog isOpen onClose={onClose} title={`Ask for ${app.label}`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          ask.mutate({ app: app.id, reason: reason.trim(), days });
        }}
      >
        <Stack>
          <ProblemAlert error={ask.error} />
          <Textarea
            label="Reason"
            description="Optional. Helps the admins decide."
            autosize
            minRows={2}
            maxLength={MAX_REASON}
            data-autofocus
            value={reason}
            onChange={({ currentTarget }) => setReason(currentTarget.value)}
          />
          <Select
            label="For how long"
            allowDeselect={false}
            data={DURATIONS.map(({ label }) => label)}
            value={duration}
            onChange={(label) => setDuration(label ?? DEFAULT_DURATION)}
          />
          <Text size="sm" c="dimmed">
            The admins get an email, and you get one with their decision.
          </Text>
          <DialogButtons action="Ask for access" isPending={ask.isPending} onClose={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
};

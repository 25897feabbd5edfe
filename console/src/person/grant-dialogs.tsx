import { Stack, TextInput } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useAccessRefresh } from '../access/use-access-refresh.ts';
import { trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { EndChoice, endChoiceOf, endOf, NO_END } from '../components/end-choice.tsx';
import { joined } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { AppsModal } from '../people/apps-modal.tsx';
import { type PersonApp, useGrantApps } from './use-person-access.ts';

const MAX_REASON = 500;

type ReasonProps = { value: string; onChange: (reason: string) => void };

const Reason = ({ value, onChange }: ReasonProps) => (
  <TextInput
    label="Reason"
    description="Shown to those who ask why the person has the app. May be empty."
    maxLength={MAX_REASON}
    value={value}
    onChange={({ currentTarget }) => onChange(currentTarget.value)}
  />
);

type GrantProps = {
  email: string;
  name: string;
  /** Ids of the apps that the person has. */
  granted: readonly string[];
  /** The app that is initially selected. */
  app: Pick<PersonApp, 'id' | 'client'> | null;
  /** The client whose apps are offered first. */
  client: number | undefined;
  onGranted: () => void;
  onClose: () => void;
};

/** Grants apps to a person, optionally until a date. */
export const GrantDialog = ({ email, name, granted, app, client, onGranted, onClose }: GrantProps) => {
  const [until, setUntil] = useState(NO_END);
  const [reason, setReason] = useState('');
  const grant = useGrantApps(email, onGranted);
  const end = endOf(until);
  return (
    <AppsModal
      title={`Grant apps to ${name}`}
      label="Grant"
      without={granted}
      client={app?.client ?? client}
      initial={app ? [app.id] : []}
      isComplete={end !== undefined}
      isSending={grant.isPending}
      error={grant.error}
      onSelect={(apps) => end !== undefined && grant.mutate({ apps, expires_at: end, reason: reason.trim() })}
      onClose={onClose}
    >
      <EndChoice label="Until" value={until} onChange={setUntil} />
      <Reason value={reason} onChange={setReason} />
    </AppsModal>
  );
};

type EndProps = {
  email: string;
  name: string;
  app: PersonApp;
  onChanged: () => void;
  onClose: () => void;
};

/** Changes the end and the reason of a grant. */
export const GrantEndDialog = ({ email, name, app, onChanged, onClose }: EndProps) => {
  const [until, setUntil] = useState(() => endChoiceOf(app.grant?.expires_at ?? null));
  const [reason, setReason] = useState(app.grant?.reason ?? '');
  const refresh = useAccessRefresh();
  const update = useMutation(
    trpc.grants.update.mutationOptions({ onSuccess: onChanged, onSettled: refresh }),
  );
  const end = endOf(until);
  const fault = joined(fieldErrors(update.error)).expires_at;
  return (
    <Dialog isOpen onClose={onClose} title={`${app.label} for ${name}`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (end !== undefined)
            update.mutate({ app_id: app.id, email, expires_at: end, reason: reason.trim() });
        }}
      >
        <Stack>
          {fault === undefined && <ProblemAlert error={update.error} />}
          <EndChoice label="Until" value={until} onChange={setUntil} error={fault} />
          <Reason value={reason} onChange={setReason} />
          <DialogButtons
            action="Save"
            isPending={update.isPending}
            isDisabled={end === undefined}
            onClose={onClose}
          />
        </Stack>
      </form>
    </Dialog>
  );
};

import { Stack, TextInput } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { EndChoice, endChoiceOf, endOf, NO_END } from '../components/end-choice.tsx';
import { changed, joined } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import {
  type Given,
  GrantGiven,
  givenOf,
  grantOf,
  isComplete,
  NOTHING_GIVEN,
} from '../data-permissions/grant-given.tsx';
import { useAccessRefresh } from '../live/use-access-refresh.ts';
import { AppsModal } from '../people/apps-modal.tsx';
import { type PersonApp, useGrantApps } from './use-person-access.ts';

const MAX_REASON = 500;

type ReasonProps = { value: string; onChange: (reason: string) => void };

const Reason = ({ value, onChange }: ReasonProps) => (
  <TextInput
    label="Reason"
    description="Optional. Shown to anyone who asks why the person has the app."
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
  const [given, setGiven] = useState<Record<string, Given>>({});
  const grant = useGrantApps(email, onGranted);
  const end = endOf(until);
  const send = (apps: string[]): void => {
    if (end === undefined) return;
    const ofApps = Object.entries(given).map(([id, one]) => [id, grantOf(one)] as const);
    grant.mutate({ apps, expires_at: end, reason: reason.trim(), given: Object.fromEntries(ofApps) });
  };
  return (
    <AppsModal
      title={`Grant apps to ${name}`}
      label="Grant"
      without={granted}
      client={app?.client ?? client}
      initial={app ? [app.id] : []}
      isComplete={end !== undefined && Object.values(given).every(isComplete)}
      isSending={grant.isPending}
      error={grant.error}
      onSelect={send}
      onClose={onClose}
      fieldsOf={(apps, clientId) =>
        apps.map((id) => (
          <GrantGiven
            key={id}
            app={id}
            client={clientId}
            error={grant.error}
            value={given[id] ?? NOTHING_GIVEN}
            onChange={(value) => setGiven({ ...given, [id]: value })}
          />
        ))
      }
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

/** Changes the end and the reason of a grant, and what it gives in the app. */
export const GrantChangeDialog = ({ email, name, app, onChanged, onClose }: EndProps) => {
  const [until, setUntil] = useState(() => endChoiceOf(app.grant?.expires_at ?? null));
  const [reason, setReason] = useState(app.grant?.reason ?? '');
  const [before] = useState(() => (app.grant ? givenOf(app.grant) : NOTHING_GIVEN));
  const [given, setGiven] = useState(before);
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
          const terms = { app_id: app.id, email, reason: reason.trim() };
          if (end !== undefined)
            update.mutate({ ...terms, expires_at: end, ...changed(grantOf(given), grantOf(before)) });
        }}
      >
        <Stack>
          {fault === undefined && <ProblemAlert error={update.error} />}
          <EndChoice label="Until" value={until} onChange={setUntil} error={fault} />
          <Reason value={reason} onChange={setReason} />
          <GrantGiven
            app={app.id}
            client={app.client}
            error={update.error}
            value={given}
            onChange={setGiven}
          />
          <DialogButtons
            action="Save"
            isPending={update.isPending}
            isDisabled={end === undefined || !isComplete(given)}
            onClose={onClose}
          />
        </Stack>
      </form>
    </Dialog>
  );
};

import {
  Button,
  Group,
  SegmentedControl,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useDebouncedValue, useDidUpdate } from '@mantine/hooks';
import { fieldErrors } from '@steward/client';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Inputs, steward, trpc } from '../api.ts';
import type { App } from '../apps/app-of.ts';
import { clockTimeOf } from '../components/date-text.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { NamedSwitch } from '../components/flag-field.tsx';
import { joined } from '../components/form-fields.ts';
import { HtmlPreview } from '../components/html-preview.tsx';
import { Notice } from '../components/notice.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { serverNow, useIsOver } from '../server-clock.ts';
import { messageOfText, textOfMessage } from './maintenance-message.ts';

const TYPING_MS = 200;

export type Maintenance = {
  state: 'none' | 'planned' | 'running';
  from: Date | null;
  until: Date | null;
};

/** The planned or running maintenance of an app. Follows the clock: a planned begin or end sends no event. */
export const useMaintenance = (app: App): Maintenance => {
  const queryClient = useQueryClient();
  const { data } = useQuery(trpc.apps.status.queryOptions({ app_id: app.id }));
  const { maintenance_from: from = null, maintenance_until: until = null } = data ?? {};
  const [hasBegun, isOver] = [useIsOver(from), useIsOver(until)];
  useDidUpdate(() => void queryClient.invalidateQueries(trpc.apps.pathFilter()), [hasBegun, isOver]);
  const isRunning = from === null ? app.in_maintenance : hasBegun;
  if (isOver || (!isRunning && from === null)) return { state: 'none', from: null, until: null };
  return { state: isRunning ? 'running' : 'planned', from, until };
};

const DAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' });

const momentOf = (date: Date): string => `${DAY.format(date)}, ${clockTimeOf(date)}`;

/** `Fri 4 Dec, 18:00–20:00`, or `from Fri 4 Dec, 18:00` without an end. */
export const periodOf = (from: Date, until: Date | null): string => {
  if (until === null) return `from ${momentOf(from)}`;
  const isSameDay = DAY.format(from) === DAY.format(until);
  return `${momentOf(from)}${isSameDay ? `–${clockTimeOf(until)}` : ` – ${momentOf(until)}`}`;
};

/** What is planned or running, in words; null if nothing is. */
export const maintenanceText = ({ state, from, until }: Maintenance): string | null => {
  if (state === 'running') return until ? `In maintenance until ${momentOf(until)}` : 'In maintenance';
  return state === 'planned' && from ? `Maintenance planned: ${periodOf(from, until)}` : null;
};

type Changes = Omit<Inputs['apps']['update'], 'app_id'>;

const useMaintenanceChange = (app: App, message: (changes: Changes) => string, onDone = () => {}) => {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (changes: Changes) => steward.api.apps.update.mutate({ app_id: app.id, ...changes }),
    onSuccess: async (_app, changes) => {
      await Promise.all(
        [trpc.apps, trpc.audit, trpc.attention].map((router) =>
          queryClient.invalidateQueries(router.pathFilter()),
        ),
      );
      notify(message(changes));
      onDone();
    },
  });
};

type NoticeProps = { app: App; maintenance: Maintenance; isReadOnly: boolean; onChange: () => void };

/** The planned or running maintenance, which admins change and end here. */
export const MaintenanceNotice = ({ app, maintenance, isReadOnly, onChange }: NoticeProps) => {
  const isRunning = maintenance.state === 'running';
  const end = useMaintenanceChange(app, () =>
    isRunning ? 'Maintenance has ended.' : 'The planned maintenance was cancelled.',
  );
  const text = maintenanceText(maintenance);
  if (text === null) return null;
  return (
    <Notice>
      <ProblemAlert error={end.error} />
      <Group justify="space-between" gap="xs">
        <div>
          <Text fw={600} size="sm">
            {text}
          </Text>
          {isRunning
            ? 'People see a message instead of the app.'
            : 'Then people see a message instead of the app.'}
        </div>
        {!isReadOnly && (
          <Group gap="xs">
            <Button variant="default" size="compact-sm" onClick={onChange}>
              Change
            </Button>
            <Button
              variant="default"
              size="compact-sm"
              loading={end.isPending}
              onClick={() => end.mutate(isRunning ? { in_maintenance: false } : { maintenance_from: null })}
            >
              {isRunning ? 'End maintenance' : 'Cancel maintenance'}
            </Button>
          </Group>
        )}
      </Group>
    </Notice>
  );
};

type DialogProps = { app: App; maintenance: Maintenance; onClose: () => void };

/** `2026-12-04T18:00` in the time zone of the browser, as inputs have it. */
const inputOf = (date: Date | null): string => {
  if (date === null) return '';
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 'YYYY-MM-DDThh:mm'.length);
};

/** An hour tonight, or tomorrow night if it has begun. */
const tonight = (now: Date): { begin: Date; end: Date } => {
  const at = (hours: number): Date => new Date(now.getFullYear(), now.getMonth(), now.getDate(), hours);
  const days = now < at(22) ? 0 : 24;
  return { begin: at(22 + days), end: at(23 + days) };
};

const ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

const dateOfInput = (text: string): Date | null => (text === '' ? null : new Date(text));

/** Starts or plans maintenance, or changes what is planned or running. */
export const MaintenanceDialog = ({ app, maintenance: { state, from, until }, onClose }: DialogProps) => {
  const [opened] = useState(() => ({
    message: app.maintenance_message,
    text: textOfMessage(app.maintenance_message),
  }));
  const [isPlanned, setPlanned] = useState(state === 'planned');
  const [begin, setBegin] = useState(inputOf(state === 'planned' ? from : null));
  const [end, setEnd] = useState(inputOf(until));
  const [isHtml, setHtml] = useState(opened.text === null);
  const [text, setText] = useState(opened.text ?? opened.message);
  const isRunning = state === 'running';
  const save = useMaintenanceChange(
    app,
    () => (isRunning ? 'Saved.' : isPlanned ? 'Maintenance is planned.' : 'Maintenance has started.'),
    onClose,
  );
  const isSame = text === (opened.text ?? opened.message) && isHtml === (opened.text === null);
  const message = isSame ? opened.message : isHtml ? text : messageOfText(text);
  const plain = isHtml ? textOfMessage(text) : text;
  const faults = joined(fieldErrors(save.error));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const { in_maintenance, maintenance_message } = app;
    save.mutate({
      ...(!isRunning && (isPlanned ? { maintenance_from: dateOfInput(begin) } : { in_maintenance: true })),
      maintenance_until: dateOfInput(end),
      maintenance_message: message,
      expected: { in_maintenance, maintenance_message },
    });
  };
  const action = isRunning ? 'Save' : isPlanned ? 'Plan maintenance' : 'Start maintenance';
  return (
    <Dialog isOpen onClose={onClose} title={`Maintenance of ${app.label}`} size="lg" isSticky>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm" c="dimmed">
            During maintenance, people see a message instead of the app.
          </Text>
          {!isRunning && (
            <SegmentedControl
              aria-label="When"
              data={[
                { value: 'now', label: 'Start now' },
                { value: 'later', label: 'Plan ahead' },
              ]}
              value={isPlanned ? 'later' : 'now'}
              onChange={(value) => {
                const proposed = tonight(new Date(serverNow()));
                setPlanned(value === 'later');
                if (begin !== '') return;
                setBegin(inputOf(proposed.begin));
                setEnd(inputOf(proposed.end));
              }}
            />
          )}
          <SimpleGrid cols={{ base: 1, xs: isPlanned && !isRunning ? 2 : 1 }}>
            {isPlanned && !isRunning && (
              <TextInput
                type="datetime-local"
                label="Begins"
                required
                value={begin}
                onChange={({ currentTarget }) => setBegin(currentTarget.value)}
                error={faults.maintenance_from}
              />
            )}
            <TextInput
              type="datetime-local"
              label="Ends (optional)"
              value={end}
              onChange={({ currentTarget }) => setEnd(currentTarget.value)}
              error={faults.maintenance_until}
            />
          </SimpleGrid>
          <Text size="sm" c="dimmed">
            Times are in {ZONE}. Without an end, maintenance lasts until someone ends it.
          </Text>
          <Stack gap="xs">
            <Textarea
              label={isHtml ? 'Message (HTML)' : 'Message'}
              placeholder="Please try again later."
              rows={4}
              {...(isHtml && { classNames: { input: 'html-input' } })}
              value={text}
              onChange={({ currentTarget }) => setText(currentTarget.value)}
              error={faults.maintenance_message}
            />
            <NamedSwitch
              label="Edit as HTML"
              description={plain === null ? 'This message has more than paragraphs.' : undefined}
              disabled={plain === null}
              checked={isHtml}
              onChange={({ currentTarget: { checked } }) => {
                setText(checked ? message : (plain ?? text));
                setHtml(checked);
              }}
            />
          </Stack>
          <Preview appId={app.id} message={message} until={dateOfInput(end)} />
          {Object.keys(faults).length === 0 && <ProblemAlert error={save.error} />}
          <DialogButtons action={action} isPending={save.isPending} onClose={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
};

type PreviewProps = { appId: string; message: string; until: Date | null };

/** The page that people would see during maintenance, as the service renders it. */
const Preview = ({ appId, message, until }: PreviewProps) => {
  const [settled] = useDebouncedValue(message, TYPING_MS);
  const { data: page, error } = useQuery({
    queryKey: ['preview of maintenance', appId, settled, until?.toISOString()],
    queryFn: () =>
      steward.api.apps.previewMaintenance.mutate({
        app_id: appId,
        maintenance_message: settled,
        maintenance_until: until,
      }),
    placeholderData: keepPreviousData,
  });
  return (
    <Stack component="section" gap="xs" aria-label="Preview of the page">
      <Text size="sm" c="dimmed">
        The page that people see:
      </Text>
      {!page && (error ? <ProblemAlert error={error} /> : <Skeleton height={144} />)}
      {page && (
        <>
          <Text fw={600}>{page.title}</Text>
          <HtmlPreview title="Preview of the message" html={page.html} />
        </>
      )}
    </Stack>
  );
};

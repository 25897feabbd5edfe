import { Button, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { steward } from '../api.ts';
import { useClients } from '../components/client-select.tsx';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { Dialog } from '../components/dialog.tsx';
import { EndChoice, endOf, NO_END } from '../components/end-choice.tsx';
import type { nameOf } from '../components/name-of.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { SelectionBar } from '../components/selection-bar.tsx';
import { AttributeField } from '../data-permissions/attribute-field.tsx';
import { useDeclared } from '../data-permissions/declared.ts';
import { SchemaChanges } from '../data-permissions/schema-changes.tsx';
import { type Action, mayDo, type Roles } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { AppsModal } from './apps-modal.tsx';
import { BulkResults } from './bulk-results.tsx';
import { type GroupChoice, GroupsModal } from './groups-modal.tsx';
import type { conditionsOf } from './people-filter.ts';
import { type BulkChange, useBulkUpdate } from './use-bulk-update.ts';
import type { Selected, Selection } from './use-selection.ts';

const ACTIONS = {
  'grant-apps': 'Grant apps',
  'revoke-apps': 'Revoke apps',
  'add-to-groups': 'Add to groups',
  deactivate: 'Suspend',
  reactivate: 'Reactivate',
  offboard: 'Offboard',
  'set-attribute': 'Set a data permission',
  'send-password-link': 'Send a password link',
} satisfies Record<BulkChange['action'], string>;

const CONSEQUENCES: Partial<Record<BulkChange['action'], string>> = {
  deactivate:
    'They are logged out at once and cannot log in. People who also belong to other clients lose only the apps of your clients. Everyone keeps their apps, groups, roles and data: “Reactivate” restores them. Logins and API tokens end for good.',
  offboard:
    'Everything they have ends at once: logins, tokens, apps, groups, roles, share links, invitations and the account. People who also belong to other clients keep what they have there. You can undo this for ten minutes; logins, tokens and invitations do not come back.',
  reactivate: 'They can log in again, and get back the apps, groups, roles and data that they had.',
  'send-password-link': 'Each of them gets a mail with a link to set a password.',
};

/** What the user needs to be allowed for each action of the bar, the most common first. */
const NEEDED = [
  ['grant-apps', 'manage-grants'],
  ['add-to-groups', 'manage-people'],
  ['deactivate', 'manage-people'],
  ['revoke-apps', 'manage-grants'],
  ['reactivate', 'manage-people'],
  ['set-attribute', 'manage-people'],
  ['send-password-link', 'manage-credentials'],
  ['offboard', 'manage-people'],
] as const satisfies (readonly [BulkChange['action'], Action])[];

/** How many actions are buttons; the others are in the menu. */
const BUTTONS = 3;

/** Whether the user may change several people together. */
export const hasBulkActions = (roles: Roles): boolean => NEEDED.some(([, needed]) => mayDo(roles, needed));

type Props = {
  selection: Selection;
  filter: ReturnType<typeof conditionsOf>;
  total: number;
  /** The people who are shown. */
  shown: readonly Parameters<typeof nameOf>[0][];
};

/** The bar with the actions for the selected people, and the elements above the list: dialogs, and the outcome of the last change. */
export const useBulkBar = ({ selection, filter, total, shown }: Props) => {
  const { roles } = useSession();
  const [action, setAction] = useState<BulkChange['action'] | null>(null);
  const [until, setUntil] = useState(NO_END);
  const [reason, setReason] = useState('');
  const end = endOf(until);
  const update = useBulkUpdate();
  const [changed, setChanged] = useState(shown);
  const [groups, setGroups] = useState<readonly GroupChoice[]>([]);
  const count = selection.selected === 'all' ? total : selection.selected.size;
  const people = count === 1 ? '1 person' : `${count.toLocaleString()} people`;
  const changesApps = action === 'grant-apps' || action === 'revoke-apps';

  const close = (): void => {
    setAction(null);
    setUntil(NO_END);
    setReason('');
  };
  const run = (change: BulkChange): void => {
    close();
    // The list may no longer have them after the change.
    setChanged(shown);
    update.mutate({ selected: selection.selected, filter, change }, { onSuccess: selection.clear });
  };
  const own = useClients().filter(({ id }) => mayDo(roles, 'manage-people', id));
  const client = filter.client ?? (own.length === 1 ? own[0]?.id : undefined);
  const hasAttributes = useDeclared(client).attributes.length > 0;
  const offered = NEEDED.filter(([name]) => name !== 'set-attribute' || hasAttributes)
    .filter(([, needed]) => mayDo(roles, needed))
    .map(([name]) => ({
      label: ACTIONS[name],
      onClick: () => setAction(name),
      isDanger: name === 'offboard',
    }));
  const bar = (
    <SelectionBar
      label="Selected people"
      text={selection.isEmpty ? null : `${count.toLocaleString()} selected`}
      busy={update.isPending ? `${ACTIONS[update.variables.change.action]}: ${people}…` : null}
      actions={offered.slice(0, BUTTONS)}
      more={offered.slice(BUTTONS)}
      onClear={selection.clear}
    />
  );
  const panels = (
    <>
      <ProblemAlert error={update.error} />
      {action !== null && changesApps && (
        <AppsModal
          title={`${ACTIONS[action]}: ${people}`}
          label={ACTIONS[action]}
          client={filter.client}
          isComplete={end !== undefined}
          onSelect={(apps) =>
            run({ action, apps, ...(action === 'grant-apps' && { expires_at: end, reason: reason.trim() }) })
          }
          onClose={close}
        >
          {action === 'grant-apps' && (
            <>
              <EndChoice label="Until" value={until} onChange={setUntil} />
              <TextInput
                label="Reason (optional)"
                maxLength={500}
                value={reason}
                onChange={({ currentTarget: { value } }) => setReason(value)}
              />
            </>
          )}
        </AppsModal>
      )}
      {action === 'add-to-groups' && (
        <GroupsModal
          title={`${ACTIONS[action]}: ${people}`}
          label={ACTIONS[action]}
          client={filter.client}
          onSelect={(groups) => {
            setGroups(groups);
            run({ action, groups: groups.map(({ id }) => id) });
          }}
          onClose={close}
        />
      )}
      {action === 'set-attribute' && client !== undefined && (
        <AttributeModal
          title={`${ACTIONS[action]}: ${people}`}
          client={client}
          selected={selection.selected}
          onSelect={(change) => run({ action, client, ...change })}
          onClose={close}
        />
      )}
      <ConfirmModal
        isOpen={action !== null && action in CONSEQUENCES}
        title={`${action ? ACTIONS[action] : ''}: ${people}`}
        action={action ? ACTIONS[action] : ''}
        isDanger={action === 'offboard'}
        onConfirm={() => action && run({ action })}
        onClose={close}
      >
        {action && CONSEQUENCES[action]}
      </ConfirmModal>
      {update.data && (
        <BulkResults outcome={update.data} people={changed} groups={groups} onClose={update.reset} />
      )}
    </>
  );
  return { bar, panels };
};

/** The most people whom a preview takes. */
const MAX_PREVIEWED = 1_000;

type AttributeModalProps = {
  title: string;
  client: number;
  selected: Selected;
  onSelect: (change: { attribute: string; value: unknown }) => void;
  onClose: () => void;
};

/** Chooses an attribute of data permissions and its value, with a preview of what it changes for the selected people. */
const AttributeModal = ({ title, client, selected, onSelect, onClose }: AttributeModalProps) => {
  const { attributes } = useDeclared(client);
  const [key, setKey] = useState<string | null>(null);
  const [value, setValue] = useState<unknown>();
  const attribute = attributes.find((one) => one.key === (key ?? attributes[0]?.key));
  const change = { attribute: attribute?.key ?? '', value };
  const preview = useMutation({
    mutationFn: (emails: string[]) =>
      steward.api.dataPermissions.previewValue.mutate({ id: client, emails, ...change }),
  });
  const emails = selected === 'all' || selected.size > MAX_PREVIEWED ? null : [...selected];
  return (
    <Dialog isOpen onClose={onClose} title={title}>
      <Stack>
        <Select
          label="Attribute"
          allowDeselect={false}
          data={attributes.map((one) => ({ value: one.key, label: one.title }))}
          value={attribute?.key ?? null}
          onChange={(chosen) => {
            setKey(chosen);
            setValue(undefined);
            preview.reset();
          }}
        />
        {attribute && (
          <AttributeField
            key={attribute.key}
            attribute={{ ...attribute, isRequired: false }}
            value={value}
            fault={undefined}
            onChange={(chosen) => {
              setValue(chosen);
              preview.reset();
            }}
          />
        )}
        <Text size="sm" c="dimmed">
          {value === undefined
            ? 'Without a value, the attribute is removed from the data of these people.'
            : 'Other attributes of these people stay as they are.'}
        </Text>
        <ProblemAlert error={preview.error} />
        {preview.data && <SchemaChanges changes={preview.data} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          {emails && (
            <Button variant="default" loading={preview.isPending} onClick={() => preview.mutate(emails)}>
              Preview
            </Button>
          )}
          <Button disabled={!attribute} onClick={() => onSelect(change)}>
            {value === undefined ? 'Remove' : 'Set'}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
};

import { Fragment } from 'react';
import type { Outputs } from '../api.ts';
import { capitalized } from '../components/capitalized.ts';
import { operationOf, useAppLabels, withNames } from '../components/changes.tsx';
import { useClientName } from '../components/client-select.tsx';
import { valueText } from '../components/detail-words.ts';
import { labelOf, operationSentenceOf, sentenceOf } from './audit-actions.ts';

/** An entry, or an operation: its newest entry with a summary of all of them. */
export type Entry = Outputs['audit']['listOperations'][number];

type Account = Entry['people'][number];

/** What a name stands for: the address on hover, and for readers of the opened entry. */
export type Name = { text: string; address?: string | undefined; account?: Account | undefined };

const KINDS: Record<Account['kind'], string> = {
  person: '',
  'service-account': ' (service account)',
  directory: ' (directory)',
};

/** The address of a service account: its name and its id. */
const SERVICE_ADDRESS = /^(.+)-\d+@service-account\.invalid$/;

const nameOfAccount = (account: Account | undefined, label: string): Name => {
  const service = SERVICE_ADDRESS.exec(label)?.[1];
  if (account)
    return {
      text: (account.name || account.email) + KINDS[account.kind],
      address: service === undefined ? account.email : undefined,
      account,
    };
  return { text: service === undefined ? label : `${service}${KINDS['service-account']}` };
};

/** The actor; without one, the service, or a caller who was not logged in. */
export const actorOf = ({ actor, actor_id, people, request_id }: Entry): Name => {
  if (actor !== '')
    return nameOfAccount(
      people.find(({ id }) => id === actor_id),
      actor,
    );
  return { text: request_id === null ? 'The service' : 'Someone who was not logged in' };
};

export const targetOf = ({ target, target_type, target_id, people }: Entry): Name =>
  target_type === 'user'
    ? nameOfAccount(
        people.find(({ id }) => String(id) === target_id),
        target,
      )
    : { text: target };

const NOUNS: Record<string, string> = {
  user: 'people',
  app: 'apps',
  client: 'clients',
  group: 'groups',
  invitation: 'invitations',
};

type Summary = NonNullable<Entry['summary']>;

/** More entries are not counted. */
const MAX_COUNTED = 1000;

export const countText = (count: number): string =>
  count > MAX_COUNTED ? 'more than 1,000' : count.toLocaleString('en-GB');

const targetsText = ({ targets, target_types: types }: Summary): string =>
  `${countText(targets)} ${(types.length === 1 && NOUNS[types[0] ?? '']) || 'things'}`;

const hasSeveralActions = (summary: Entry['summary']): summary is Summary =>
  summary !== null && summary.actions.length > 1;

/** A change of many people, without their groups and links, which were changed with them. */
const aboutPeople = (entry: Entry, summary: Summary): Entry => {
  const { person, people } = summary;
  const id = person?.id ?? null;
  return {
    ...entry,
    ...(person && { target: person.email, target_type: 'user', target_id: id === null ? null : String(id) }),
    summary: { ...summary, targets: people, target_types: ['user'] },
  };
};

/** Longer lists of people are only counted. */
const MAX_LISTED = 3;

const membersText = (entry: Entry, change: 'added' | 'removed'): string => {
  const members = Object(withNames(entry).members) as Record<string, unknown[] | undefined>; // as in the audit trail
  const people = members[change] ?? [];
  return people.length > MAX_LISTED ? `${people.length} people` : valueText(people, new Map());
};

/** The parts of the sentence of an entry: texts, and names. */
const usePartsOf = () => {
  const appLabels = useAppLabels();
  const nameOfClient = useClientName();
  return (listed: Entry): (string | Name)[] => {
    const { isUndo } = operationOf(listed.details);
    const several = hasSeveralActions(listed.summary) ? listed.summary : undefined;
    const operation = several && operationSentenceOf(several, isUndo);
    const entry = several && operation ? aboutPeople(listed, several) : listed;
    const { summary, details, clients, action } = entry;
    const actor = actorOf(entry);
    const isOne = !summary || summary.targets === 1;
    const app = entry.target_type === 'app' ? appLabels.get(entry.target_id ?? '') : undefined;
    const one: Name = app === undefined ? targetOf(entry) : { text: app };
    const target = isOne ? one : { text: targetsText(summary) };
    const isOwn = isOne && entry.target_type === 'user' && entry.target_id === String(entry.actor_id);
    const nameOf = (placeholder: string): string | Name => {
      if (placeholder === 'target') return isOwn ? 'their own account' : target;
      if (placeholder === 'client') return { text: clients.map(nameOfClient).join(', ') || 'a client' };
      if (placeholder === 'added' || placeholder === 'removed')
        return { text: membersText(entry, placeholder) };
      const value = details[placeholder];
      return { text: value === undefined ? 'an app' : valueText(value, appLabels) };
    };
    const sentence =
      operation ??
      (several ? `made ${countText(several.count)} changes to {target}` : sentenceOf(action, details));
    const parts = sentence.split(/\{(\w+)\}/).map((part, index) => (index % 2 === 0 ? part : nameOf(part)));
    return [
      actor,
      ' ',
      ...parts,
      ...(summary && isOne && summary.actions.length === 1 ? [`, ${countText(summary.count)} times`] : []),
      ...(isUndo && !operation ? [', to undo a change'] : []),
    ];
  };
};

/** Subject, verb and object: `Alex Acme granted Sales to Grace Hopper`. */
export const Sentence = ({ entry }: { entry: Entry }) =>
  usePartsOf()(entry).map((part, index) =>
    typeof part === 'string' ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence have an order
      <Fragment key={index}>{part}</Fragment>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence have an order
      <strong key={index} title={part.address}>
        {part.text}
      </strong>
    ),
  );

/** Said by the subject, or an id that means nothing to readers. */
const UNSAID = ['viewer', 'id', 'access_view'];

/** The fields of an entry that its sentence does not name, with names of people; of several actions, what they are. */
export const changesOf = (entry: Entry): Record<string, unknown> => {
  const { summary, action } = entry;
  if (summary && !summary.is_same) return {};
  const words = sentenceOf(action, entry.details);
  return Object.fromEntries(
    Object.entries(withNames(entry)).filter(
      ([field, value]) =>
        !UNSAID.includes(field) &&
        value !== '' &&
        value !== null &&
        !words.includes(`{${field}}`) &&
        !(field === 'members' && isOfMembers(words)),
    ),
  );
};

const isOfMembers = (sentence: string): boolean => /\{(added|removed)\}/.test(sentence);

/** What an operation of several actions consists of. */
export const actionsText = ({ summary }: Entry): string =>
  hasSeveralActions(summary)
    ? capitalized(summary.actions.map((action) => labelOf(action).toLowerCase()).join(', '))
    : '';

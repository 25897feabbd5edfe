import type { ReminderFacts } from '../reminders/reminder-facts.ts';
import type { DigestFacts } from '../reminders/weekly-digest.ts';
import { type MailContent, momentOf, oneLine } from './mail-layout.ts';

type Content = Pick<MailContent, 'opening' | 'list'>;
type Facts = ReminderFacts | null | undefined;

/** Nothing is revealed about people who were erased. */
const NOTHING: Content = { opening: ['This reminder is no longer needed.'] };

/** To the person whose grants end. */
export const endingContent = (facts: Facts): Content => {
  if (!facts?.grants) return NOTHING;
  return {
    opening: [
      'You can open these apps for a limited time. If you need them for longer, ask your administrator.',
    ],
    list: {
      heading: 'Your access ends:',
      items: facts.grants.map(({ app, expires_at }) => `${oneLine(app)}: ${momentOf(expires_at)}`),
    },
  };
};

/** To the admins, about the grants of all people. */
export const reportContent = (facts: Facts): Content => {
  if (!facts?.grants) return NOTHING;
  const { grants, more = 0 } = facts;
  const items = grants.map(({ app, expires_at, email = '', name = '' }) => {
    const person = oneLine(name) === '' ? email : `${oneLine(name)} (${email})`;
    return `${person}: ${oneLine(app)}, until ${momentOf(expires_at)}`;
  });
  return {
    opening: ['The access of these people ends soon. To extend it, log in to the console.'],
    list: {
      heading: 'Access that ends:',
      items:
        more > 0
          ? [...items, `${countOf(more, 'more grant', 'more grants')}, which the console lists`]
          : items,
    },
  };
};

/** To a person who does not use the client. */
export const warningContent = (facts: Facts, account: string): Content => {
  if (!facts?.inactive_days) return NOTHING;
  const { inactive_days: days, suspends_at: at } = facts;
  return {
    opening: [
      `${account} has not been used for ${days} days.`,
      at
        ? `If you do not log in or open an app, your membership is suspended after ${momentOf(at)}: you lose your apps here. Log in before then to keep them.`
        : 'If you still need it, log in. If you do not, tell your administrator.',
    ],
  };
};

/** To the maker of a token, or to the admins of its service account. */
export const tokenContent = (facts: Facts): Content => {
  if (!facts?.token) return NOTHING;
  const { name, account, ends_at: end } = facts.token;
  const token =
    account === null ? 'Your API token' : `The API token of the service account “${oneLine(account)}”`;
  return {
    opening: [
      `${token} with the name “${oneLine(name)}” ends on ${momentOf(end)}. From then on, programs that use it are refused.`,
      'If they are still needed, make another token, and give it to them before then.',
    ],
  };
};

/** To the admins, about the last week. */
export const digestContent = (facts: Facts): Content => {
  if (!facts?.digest) return NOTHING;
  return {
    opening: ['This happened in the last week (Monday to Sunday, UTC), and this is to do:'],
    list: { heading: 'Your week:', items: linesOf(facts.digest) },
  };
};

const linesOf = (digest: DigestFacts): string[] => {
  const { waiting_invitations: waiting, bounced_invitations: bounced } = digest;
  const bounces = bounced > 0 ? `, of which ${countOf(bounced, 'mail', 'mails')} could not be delivered` : '';
  const used = digest.used_apps.map(
    ({ label, actions }) => `${oneLine(label)} (${actions.toLocaleString('en-GB')})`,
  );
  const unused = digest.unused_apps.slice(0, SHOWN_UNUSED).map(oneLine);
  const others = digest.unused_apps.length - unused.length;
  return [
    digest.new_people > 0 && `New: ${countOf(digest.new_people, 'person', 'people')}`,
    digest.left_people > 0 && `Left: ${countOf(digest.left_people, 'person', 'people')}`,
    digest.ending_grants > 0 &&
      `Access that ends this week: ${countOf(digest.ending_grants, 'grant', 'grants')}`,
    waiting > 0 && `Invitations that wait: ${waiting.toLocaleString('en-GB')}${bounces}`,
    digest.waiting_requests > 0 &&
      `Requests for apps that wait: ${digest.waiting_requests.toLocaleString('en-GB')}`,
    used.length > 0 && `Most used apps (actions): ${used.join(', ')}`,
    unused.length > 0 && `Unused apps: ${unused.join(', ')}${others > 0 ? ` and ${others} more` : ''}`,
  ].filter((line) => line !== false);
};

const SHOWN_UNUSED = 5;

const countOf = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en-GB')} ${count === 1 ? one : many}`;

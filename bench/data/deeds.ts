import { copyText } from './copying.ts';
import type { App, Stack } from './tenants.ts';

/** What somebody may do in an app, as the parts of a COPY line around what differs from entry to entry. */
export type Deed = {
  share: number;
  /** From the app's id to the beginning of the session's. */
  head: string;
  /** From the server's name to the beginning of the address. */
  middle: string;
  /** From the end of the address to the end of the line. */
  tail: string;
};

const ACTIONS = [
  { action: 'STACK_ACCESS', says: 'Opened', share: 80, query: '' },
  { action: 'FILTER_APPLY', says: 'Filtered', share: 12, query: 'filters=region%2Cperiod&page=2' },
  { action: 'DATA_EXPORT', says: 'Exported', share: 8, query: 'format=csv' },
];
/** Nobody has chosen a stack yet. */
const OPENING = { action: 'APP_ACCESS', says: 'Opened', share: 20, query: '' };

/** Everything that is done in an app, the first of its stacks most. */
export const deedsOf = (app: App, host: string): [Deed, ...Deed[]] => [
  makeDeed(app, host, OPENING, null),
  ...app.stacks.flatMap((stack, index) =>
    ACTIONS.map((action) => makeDeed(app, host, { ...action, share: action.share / (index + 1) }, stack)),
  ),
];

const makeDeed = (
  app: App,
  host: string,
  { action, says, share, query }: typeof OPENING,
  stack: Stack | null,
): Deed => {
  const description = stack ? `${says} ${stack.label} of ${app.label}` : `${says} ${app.label}`;
  const home = `/apps/${app.slug}/`;
  const path = stack ? `${home}${stack.slug}/` : home;
  const about = { app: app.slug, ...(stack && { stack: stack.id }), app_id: app.id };
  const fields = [app.id, action, copyText(description), stack?.id ?? '\\N', ''];
  return {
    share,
    head: `${fields.join('\t')}${opened(about)},"request":${opened({ path })},"session":"`,
    middle: within({ SERVER_NAME: host, HTTP_REFERER: `https://${host}${home}`, REMOTE_ADDR: '' }).slice(
      0,
      -1,
    ),
    tail: `",${within({
      CONTENT_TYPE: 'text/html',
      REQUEST_METHOD: 'GET',
      HTTP_HOST: host,
      SERVER_PORT: '443',
      QUERY_STRING: query,
      HTTP_ACCEPT_ENCODING: 'gzip, br',
    })}}}}\n`,
  };
};

/** The members of an object without its braces, as a part of a COPY line. */
const within = (members: Record<string, string>): string => copyText(JSON.stringify(members)).slice(1, -1);

const opened = (members: Record<string, string>): string => `{${within(members)}`;

import { createHash } from 'node:crypto';
import { copyText } from './copying.ts';
import type { Grant, Person } from './people.ts';
import { type LogDay, type Plan, timesOf } from './plan.ts';
import { type Choice, createChoice, createRandom, type Random, USER_AGENTS } from './random.ts';
import type { App, Client, Stack } from './tenants.ts';

/** The columns of a COPY line. */
export const ENTRY_COLUMNS =
  'occurred_at, id, email, full_name, app_id, action, action_description, stack, extra';

/** Average per visit. */
const ENTRIES_PER_VISIT = 5;

/** Generates actions of people in the apps that they can access, weighted by activity and popularity. */
export const createLog = (plan: Plan, grants: Grant[], clients: readonly Client[], hotApp: App) => {
  const choiceOf = (isIncluded: (app: App) => boolean): Choice =>
    createChoice(grants.map(({ app, activity }) => (isIncluded(app) ? activity : 0)));
  const all = choiceOf(() => true);
  const hot = choiceOf((app) => app === hotApp);
  const others = choiceOf((app) => app !== hotApp);
  if (hot.isEmpty) throw new Error('No user has access to the first app.');
  const buildLine = createLineBuilder(clients);

  return {
    /** COPY lines for the entries of a day, oldest first. */
    *linesOf(day: LogDay): Generator<string> {
      const random = createRandom(plan.seed, `log ${day.start.toISOString()}`);
      const remaining = { entries: day.entries, hot: day.hot };
      const hotVisits = visitsOf(grants, hot, day.hot, random);
      const otherVisits = visitsOf(grants, day.isHot ? others : all, day.entries - day.hot, random);
      let id = day.firstId;
      for (const time of timesOf(day, random)) {
        // Distributes the remaining hot entries evenly over the remaining entries.
        const isHot = random.fraction() * remaining.entries < remaining.hot;
        remaining.entries -= 1;
        if (isHot) remaining.hot -= 1;
        const grant = random.pick(isHot ? hotVisits : otherVisits);
        yield `${new Date(time).toISOString()}\t${id}\t${buildLine(grant, random)}`;
        id += 1;
      }
    },
  };
};

/** Picks the visits of a day. */
const visitsOf = (grants: Grant[], choice: Choice, entries: number, random: Random): [Grant, ...Grant[]] => {
  const pick = (): Grant => {
    const grant = grants[choice.choose(random)];
    if (!grant) throw new Error('The choice is out of range.');
    return grant;
  };
  return [pick(), ...Array.from({ length: Math.floor(entries / ENTRIES_PER_VISIT) }, pick)];
};

type Actor = {
  names: string;
  /** From the user's part of the session id to the end of the user agent. */
  browser: string;
  address: string;
};

/** Of 32 digits of a session id: the other 8 are random per entry. */
const USER_DIGITS = 24;

/** Caches the constant strings of people and apps: there are millions of entries. */
const createLineBuilder = (clients: readonly Client[]) => {
  const hosts = new Map(clients.map(({ id, domain }) => [id, domain]));
  const actors = new Map<Person, Actor>();
  const actions = new Map<App, { actions: [Action, ...Action[]]; choice: Choice }>();

  const pickAction = (app: App, random: Random): Action => {
    const known = actions.get(app) ?? withChoice(actionsOf(app, hosts.get(app.clientId) ?? ''));
    actions.set(app, known);
    return known.actions[known.choice.choose(random)] ?? known.actions[0];
  };
  const actorOf = (person: Person): Actor => {
    const actor = actors.get(person) ?? makeActor(person);
    actors.set(person, actor);
    return actor;
  };
  return ({ person, app }: Grant, random: Random): string => {
    const { head, middle, tail } = pickAction(app, random);
    const { names, browser, address } = actorOf(person);
    return `${names}\t${head}${random.hex8()}${browser}${middle}${address}${tail}`;
  };
};

const withChoice = (actions: [Action, ...Action[]]) => ({
  actions,
  choice: createChoice(actions.map(({ share }) => share)),
});

const makeActor = ({ id, email, firstName, lastName }: Person): Actor => ({
  names: `${email}\t${copyText(`${firstName} ${lastName}`)}`,
  browser: `${sessionDigits(email)}","META":{"HTTP_USER_AGENT":"${USER_AGENTS[id % USER_AGENTS.length]}",`,
  address: `10.${(id >>> 16) & 255}.${(id >>> 8) & 255}.${id & 255}`,
});

const sessionDigits = (email: string): string =>
  createHash('sha256').update(email).digest('hex').slice(0, USER_DIGITS);

/** An action in an app, as the constant parts of its COPY line. */
export type Action = {
  share: number;
  /** From the app id to the start of the session id. */
  head: string;
  /** From the server name to the start of the address. */
  middle: string;
  /** From the end of the address to the end of the line. */
  tail: string;
};

const STACK_ACTIONS = [
  { action: 'STACK_ACCESS', says: 'Opened', share: 80, query: '' },
  { action: 'FILTER_APPLY', says: 'Filtered', share: 12, query: 'filters=region%2Cperiod&page=2' },
  { action: 'DATA_EXPORT', says: 'Exported', share: 8, query: 'format=csv' },
];
/** Without a stack. */
const OPENING = { action: 'APP_ACCESS', says: 'Opened', share: 20, query: '' };

/** The actions in an app; the first stack has the most. */
export const actionsOf = (app: App, host: string): [Action, ...Action[]] => [
  createAction(app, host, OPENING, null),
  ...app.stacks.flatMap((stack, index) =>
    STACK_ACTIONS.map((action) =>
      createAction(app, host, { ...action, share: action.share / (index + 1) }, stack),
    ),
  ),
];

const createAction = (
  app: App,
  host: string,
  { action, says, share, query }: typeof OPENING,
  stack: Stack | null,
): Action => {
  const description = stack ? `${says} ${stack.label} of ${app.label}` : `${says} ${app.label}`;
  const home = `/apps/${app.slug}/`;
  const path = stack ? `${home}${stack.slug}/` : home;
  const about = { app: app.slug, ...(stack && { stack: stack.id }), app_id: app.id };
  const fields = [app.id, action, copyText(description), stack?.id ?? '\\N', ''];
  return {
    share,
    head: `${fields.join('\t')}${openObject(about)},"request":${openObject({ path })},"session":"`,
    middle: members({ SERVER_NAME: host, HTTP_REFERER: `https://${host}${home}`, REMOTE_ADDR: '' }).slice(
      0,
      -1,
    ),
    tail: `",${members({
      CONTENT_TYPE: 'text/html',
      REQUEST_METHOD: 'GET',
      HTTP_HOST: host,
      SERVER_PORT: '443',
      QUERY_STRING: query,
      HTTP_ACCEPT_ENCODING: 'gzip, br',
    })}}}}\n`,
  };
};

/** JSON members without braces, escaped for COPY. */
const members = (values: Record<string, string>): string => copyText(JSON.stringify(values)).slice(1, -1);

const openObject = (values: Record<string, string>): string => `{${members(values)}`;

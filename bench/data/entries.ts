import { createHash } from 'node:crypto';
import { type LogDay, timesOf } from './calendar.ts';
import { copyText } from './copying.ts';
import { type Deed, deedsOf } from './deeds.ts';
import type { Grant } from './grants.ts';
import { USER_AGENTS } from './names.ts';
import type { Person } from './people.ts';
import type { Plan } from './plan.ts';
import { type Choice, createChoice, createRandom, type Random } from './random.ts';
import type { App, Client } from './tenants.ts';

/** In the order of the fields of a line. */
export const ENTRY_COLUMNS =
  'occurred_at, id, email, full_name, app_id, action, action_description, stack, extra';

/** Whoever comes does several things, on the average so many. */
const ENTRIES_PER_VISIT = 5;

/** People act in the apps that they have access to, by their activity and by how popular the app is. */
export const createLog = (plan: Plan, grants: Grant[], clients: readonly Client[], hotApp: App) => {
  const choiceOf = (isMeant: (app: App) => boolean): Choice =>
    createChoice(grants.map(({ app, activity }) => (isMeant(app) ? activity : 0)));
  const all = choiceOf(() => true);
  const hot = choiceOf((app) => app === hotApp);
  const others = choiceOf((app) => app !== hotApp);
  if (hot.isEmpty) throw new Error('Nobody may open the first app.');
  const partsOf = createParts(clients);

  return {
    /** Lines of COPY for the entries of a day, the oldest first. */
    *linesOf(day: LogDay): Generator<string> {
      const random = createRandom(plan.seed, `log ${day.start.toISOString()}`);
      const left = { entries: day.entries, hot: day.hot };
      const hotVisits = visitsOf(grants, hot, day.hot, random);
      const otherVisits = visitsOf(grants, day.isHot ? others : all, day.entries - day.hot, random);
      let id = day.firstId;
      for (const time of timesOf(day, random)) {
        // Each of the entries that are left is as likely as another to be one of the hot ones that are left.
        const isHot = random.fraction() * left.entries < left.hot;
        left.entries -= 1;
        if (isHot) left.hot -= 1;
        const grant = random.pick(isHot ? hotVisits : otherVisits);
        yield `${new Date(time).toISOString()}\t${id}\t${partsOf(grant, random)}`;
        id += 1;
      }
    },
  };
};

/** Who comes on a day, and to which app, for so many entries. */
const visitsOf = (grants: Grant[], choice: Choice, entries: number, random: Random): [Grant, ...Grant[]] => {
  const pick = (): Grant => {
    const grant = grants[choice.choose(random)];
    if (!grant) throw new Error('A choice is among the grants.');
    return grant;
  };
  return [pick(), ...Array.from({ length: Math.floor(entries / ENTRIES_PER_VISIT) }, pick)];
};

type Actor = {
  names: string;
  /** From the part of a session's id that is its owner's to the end of the browser's name. */
  browser: string;
  address: string;
};

/** Of a session's id: 8 are the entry's own, and 24 its owner's, as so many random ones for each entry take time. */
const OWN_DIGITS = 24;

/** Strings that are the same for all entries of a person or an app are made once: there are millions of entries. */
const createParts = (clients: readonly Client[]) => {
  const hosts = new Map(clients.map(({ id, domain }) => [id, domain]));
  const actors = new Map<Person, Actor>();
  const deeds = new Map<App, { deeds: [Deed, ...Deed[]]; choice: Choice }>();

  const deedOf = (app: App, random: Random): Deed => {
    const known = deeds.get(app) ?? withChoice(deedsOf(app, hosts.get(app.clientId) ?? ''));
    deeds.set(app, known);
    return known.deeds[known.choice.choose(random)] ?? known.deeds[0];
  };
  const actorOf = (person: Person): Actor => {
    const actor = actors.get(person) ?? makeActor(person);
    actors.set(person, actor);
    return actor;
  };
  return ({ person, app }: Grant, random: Random): string => {
    const { head, middle, tail } = deedOf(app, random);
    const { names, browser, address } = actorOf(person);
    return `${names}\t${head}${random.hex8()}${browser}${middle}${address}${tail}`;
  };
};

const withChoice = (deeds: [Deed, ...Deed[]]) => ({
  deeds,
  choice: createChoice(deeds.map(({ share }) => share)),
});

const makeActor = ({ id, email, firstName, lastName }: Person): Actor => ({
  names: `${email}\t${copyText(`${firstName} ${lastName}`)}`,
  browser: `${ownDigits(email)}","META":{"HTTP_USER_AGENT":"${USER_AGENTS[id % USER_AGENTS.length]}",`,
  address: `10.${(id >>> 16) & 255}.${(id >>> 8) & 255}.${id & 255}`,
});

const ownDigits = (email: string): string =>
  createHash('sha256').update(email).digest('hex').slice(0, OWN_DIGITS);

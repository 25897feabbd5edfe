import { setTimeout as sleep } from 'node:timers/promises';
import type { createRestClient } from '../support/http-clients.ts';

const PAUSE_MS = 20;
const RETRY_MS = 100;
const APP = 'zylTKNVx';

type Answer = { status: number; text: string };

export type Writers = ReturnType<typeof startWriters>;

/** Clients that write through a service, each as soon as its last request was answered. */
type Client = Pick<ReturnType<typeof createRestClient>, 'send'>;

type Database = { ask: (statement: string) => Promise<Record<string, unknown>[]> };

export const startWriters = (service: Client, token: string, group: string) => {
  const statuses = new Map<number, number>();
  const unexpected: string[] = [];
  const acknowledged = {
    users: new Set<string>(),
    updates: new Map<string, number>(),
    usage: new Set<string>(),
  };
  /** In the order in which they were acknowledged. */
  const successes: { startedAt: number; endedAt: number }[] = [];
  let isStopped = false;

  /** @returns whether the write was acknowledged */
  const write = async (line: string, body: unknown): Promise<boolean> => {
    const startedAt = performance.now();
    const answer: Answer = await service
      .send(line, { token, body })
      .catch((error: unknown) => ({ status: 0, text: String(error) }));
    const isDone = answer.status >= 200 && answer.status < 300;
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    if (isDone) successes.push({ startedAt, endedAt: performance.now() });
    else if (answer.status !== 503) unexpected.push(`${line}: ${answer.status} ${answer.text}`);
    await sleep(isDone ? PAUSE_MS : RETRY_MS);
    return isDone;
  };

  const repeat = async (work: (round: number) => Promise<void>): Promise<void> => {
    for (let round = 1; !isStopped; round += 1) await work(round);
  };
  const makeUsers = (client: number) =>
    repeat(async (round) => {
      const email = `${group}-${client}-${round}@acme.test`;
      if (await write('POST /jb/users/', { email, client: 1, apps: [APP], send_email: false }))
        acknowledged.users.add(email);
    });
  const updateUser = (email: string) =>
    repeat(async (round) => {
      if (await write(`PATCH /jb/users/${email}/`, { extra: { round } }))
        acknowledged.updates.set(email, round);
    });
  const recordUsage = () =>
    repeat(async (round) => {
      const mark = `${group}-${round}`;
      const entry = { email: 'ada@acme.test', action: 'STACK_ACCESS', extra: { mark } };
      if (await write(`POST /jb/apps/${APP}/usage/`, entry)) acknowledged.usage.add(mark);
    });

  const own = `${group}@acme.test`;
  const prepare = async (): Promise<void> => {
    while (!acknowledged.users.has(own)) {
      if (await write('POST /jb/users/', { email: own, client: 1, apps: [], send_email: false }))
        acknowledged.users.add(own);
    }
  };
  const running = prepare().then(() =>
    Promise.all([makeUsers(1), makeUsers(2), updateUser(own), recordUsage()]),
  );

  return {
    unexpected,
    statuses: (): string => [...statuses].map(([status, count]) => `${count} × ${status}`).join(', '),
    /** When the first write that was sent after this time was acknowledged. */
    firstSuccessSince: (time: number): number | undefined =>
      successes.find(({ startedAt }) => startedAt >= time)?.endedAt,
    /** The longest time from then on without an acknowledged write. */
    longestGapSince: (time: number): number => {
      const ends = [time, ...successes.map(({ endedAt }) => endedAt).filter((endedAt) => endedAt > time)];
      return Math.max(...ends.slice(1).map((endedAt, index) => endedAt - (ends[index] ?? endedAt)));
    },
    stop: async (): Promise<void> => {
      isStopped = true;
      await running;
    },
    /** Acknowledged writes that the database does not have. */
    findLost: async ({ ask }: Database): Promise<string[]> => {
      const columnOf = async (statement: string) => new Set((await ask(statement)).map(({ value }) => value));
      const users = await columnOf(`select email as value from users where email like '${group}%'`);
      const usage = await columnOf(
        `select extra ->> 'mark' as value from usage_entries where extra ->> 'mark' like '${group}%'`,
      );
      const [updated] = await ask(
        `select (extra ->> 'round')::int as round from users where email = '${own}'`,
      );
      const round = acknowledged.updates.get(own) ?? 0;
      return [
        ...[...acknowledged.users].filter((email) => !users.has(email)),
        ...[...acknowledged.usage].filter((mark) => !usage.has(mark)),
        ...(Number(updated?.round) < round ? [`update ${round} of ${own}: there is ${updated?.round}`] : []),
      ];
    },
    count: (): number => successes.length,
    /** Requests that were not acknowledged. */
    failed: (): number => [...statuses.values()].reduce((sum, count) => sum + count, 0) - successes.length,
  };
};

import { randomUUID } from 'node:crypto';
import { link, open, rm, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { pipeline } from 'node:stream/promises';
import type { Config } from '../config/config.ts';
import { kysely } from '../db/kysely.ts';
import { formatMegabytes } from '../lib/operator-text.ts';
import { invalid, notFound } from '../lib/problems.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';
import { createSignedLinks } from '../services/auth/signed-links.ts';
import {
  eraseAccount,
  eraseAddress,
  finishErasures,
  lockPerson,
  readAddresses,
} from '../services/data-rights/erasure.ts';
import { countRows } from '../services/data-rights/erasures.ts';
import { createUserExports } from '../services/data-rights/user-exports.ts';
import { createMailWriter } from '../services/mail/mail-writer.ts';
import { createErasureKeys } from '../services/usage/erasure-keys.ts';
import { withDatabaseForLong } from './database-work.ts';

const PRIVATE_FILE = 0o600;

/** Writes the file completely or not at all, and never overwrites one. @returns a line for the operator */
export const exportUser = (config: Config, email: string, file: string): Promise<string> =>
  withDatabaseForLong(config, async ({ orm, secretKey, clock }) => {
    const { mailFrom, invitationMs, baseUrl } = config;
    const links = createSignedLinks({ secretKey, baseUrl });
    const mailWriter = createMailWriter({ links, mailFrom });
    const audit = createAudit(NO_ORIGIN, clock);
    const em = orm.em.fork();
    const exports = createUserExports({ em, clock, audit, mailWriter, invitationMs });
    const draft = `${file}.${randomUUID()}.partial`;
    const target = await open(draft, 'wx', PRIVATE_FILE);
    try {
      const { archive } = await exports.open(null, email);
      await pipeline(archive(), target.createWriteStream({ flush: true }));
      // Unlike a rename, fails if the file exists.
      await link(draft, file);
    } finally {
      await target.close();
      await rm(draft, { force: true });
    }
    const { size } = await stat(file);
    return `Wrote ${file}: everything about ${email}, ${formatMegabytes(size)}.`;
  });

/** Erases a person, with or without an account, after the operator has typed the address. @returns a line for the operator */
export const eraseUser = (config: Config, email: string, confirm: string | undefined): Promise<string> =>
  withDatabaseForLong(config, async ({ orm, secretKey, clock }) => {
    const em = orm.em.fork();
    const user = await kysely(em)
      .selectFrom('users')
      .select(['id', 'email'])
      .where('email', '=', email)
      .executeTakeFirst();
    const counts = await countRows(em, user?.id ?? null, user ? await readAddresses(em, user) : [email]);
    const lines = Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `  ${name.replaceAll('_', ' ')}: ${count.toLocaleString('en')}\n`);
    if (!user && lines.length === 0) throw notFound('user, nor anything recorded under the address');
    const account = user ? 'the account and' : 'no account, but';
    process.stderr.write(`Erasing ${email} cannot be undone. It concerns ${account}:\n${lines.join('')}`);
    const typed = confirm ?? (await ask('Type the address again: '));
    if (typed.trim().toLowerCase() !== email)
      throw invalid({ confirm: ['This is not the address. Nothing was changed.'] });

    const { addressDigest } = createErasureKeys(secretKey);
    const audit = createAudit(NO_ORIGIN, clock);
    const pseudonym = await orm.em.fork().transactional(async (tx) => {
      const deps = { tx, now: clock.now(), audit, addressDigest };
      return user ? eraseAccount(deps, null, await lockPerson(tx, null, email)) : eraseAddress(deps, email);
    });
    const isFinished = await finishErasures(orm.em, clock, { pseudonym });
    return isFinished
      ? `Erased: the person is now ${pseudonym}.`
      : `The person is now ${pseudonym}. Another transaction has been running for long: the service erases the rest when it has ended.`;
  });

const ask = async (question: string): Promise<string> => {
  if (!process.stdin.isTTY) throw invalid({ confirm: ['Pass the address again with --confirm.'] });
  using terminal = createInterface({ input: process.stdin, output: process.stderr });
  return await terminal.question(question);
};

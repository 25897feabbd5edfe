import { Migration } from '@mikro-orm/migrations';
import { APPS } from './schema/apps.ts';
import { OPENING } from './schema/opening.ts';
import { PEOPLE } from './schema/people.ts';
import { RECORDS } from './schema/records.ts';
import { SENDING } from './schema/sending.ts';
import { SIGN_IN } from './schema/sign-in.ts';

/** All tables. What refers to others comes after them. */
export class Schema extends Migration {
  override up(): void {
    for (const statements of [PEOPLE, APPS, SIGN_IN, OPENING, SENDING, RECORDS]) this.addSql(statements);
  }
}

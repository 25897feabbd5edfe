import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';

/**
 * Updates the keys that a client or a package of one of its apps declares: other keys in data permissions are mistyped. Call it after a
 * schema has changed, or an app was removed. Locks the client, so that the second of two changes sees the first.
 */
export const updateDeclaredKeys = async (tx: Em, clientId: number): Promise<void> => {
  await sql`select from clients where id = ${clientId} for no key update`.execute(kysely(tx));
  await sql`
    update clients set attribute_keys = array(
      select distinct json_object_keys(attributes -> 'properties') as key from (
        select c.attributes from clients c where c.id = ${clientId}
        union all select a.attributes from apps a where a.client_id = ${clientId} and a.attributes is not null) declared
      where attributes is not null order by key)
    where id = ${clientId}`.execute(kysely(tx));
};

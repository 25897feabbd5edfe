import type { Compilable, CompiledQuery, Kysely } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import { type Db, prepared } from '../../db/kysely.ts';
import type { Viewer } from './visibility.ts';

type ViewerIds = { viewerId: number; viewerAdminOf: readonly number[] };

/**
 * A query with conditions of the visibility policy, compiled once for each kind of viewer: their roles decide the text
 * of the SQL, their ids are bound.
 */
export const preparedForViewer = <V extends object, O>(
  build: (db: Kysely<Database>, viewer: Viewer, values: V) => Compilable<O>,
) => {
  const compileFor = (roles: Pick<Viewer, 'isSuperuser' | 'isStaff'>) =>
    prepared((db, values: V & ViewerIds) =>
      build(db, { ...roles, id: values.viewerId, adminOf: values.viewerAdminOf }, values),
    );
  const forSuperuser = compileFor({ isSuperuser: true, isStaff: false });
  const forStaff = compileFor({ isSuperuser: false, isStaff: true });
  const forOthers = compileFor({ isSuperuser: false, isStaff: false });

  const queryFor = ({ isSuperuser, isStaff }: Viewer) => {
    if (isSuperuser) return forSuperuser;
    return isStaff ? forStaff : forOthers;
  };
  const withIds = ({ id, adminOf }: Viewer, values: V) => ({
    ...values,
    viewerId: id,
    viewerAdminOf: adminOf,
  });
  return {
    run: (em: Db, viewer: Viewer, values: V): Promise<O[]> => queryFor(viewer)(em, withIds(viewer, values)),

    /** The query with its values, to be sent along with others. */
    bound: (em: Db, viewer: Viewer, values: V): CompiledQuery<O> =>
      queryFor(viewer).bound(em, withIds(viewer, values)),
  };
};

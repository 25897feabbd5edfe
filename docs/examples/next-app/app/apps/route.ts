import { isProblem } from '@steward/client';
import { getSteward } from '../../lib/steward.ts';

/** A route handler. */
export const GET = async (): Promise<Response> => {
  const { api } = await getSteward();
  try {
    return Response.json(await api.apps.list.query({}));
  } catch (error) {
    if (!isProblem(error)) throw error;
    return Response.json({ message: error.message }, { status: error.data.httpStatus });
  }
};

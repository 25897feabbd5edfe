'use server';

import { type FieldErrors, fieldErrors, isProblem } from '@steward/client';
import { revalidatePath } from 'next/cache';
import { getSteward } from '../lib/steward.ts';

export type FormState = { message?: string; fields?: FieldErrors };

/** A server action, for `useActionState`. It returns problems, because Next.js hides the messages of errors from browsers. */
export const updateProfile = async (_previous: FormState, form: FormData): Promise<FormState> => {
  const { api } = await getSteward();
  try {
    await api.profile.update.mutate({ first_name: String(form.get('first_name')) });
  } catch (error) {
    if (isProblem(error)) return { message: error.message, fields: fieldErrors(error) };
    throw error;
  }
  revalidatePath('/');
  return {};
};

import type { UseFormReturnType } from '@mantine/form';
import { useWindowEvent } from '@mantine/hooks';
import { useEffect } from 'react';
import { SESSION_ENDED } from '../api.ts';
import { useSession } from '../session/use-session.ts';
import { notify } from './toasts.ts';
import { useUnsavedWork } from './unsaved-work.ts';

/**
 * Asks before the changes of a form are lost. When the session ends, stores them in the tab until the user has logged in again and is back
 * on the screen.
 * @param name unique on the screen
 */
export const useDraft = <Values extends object>(name: string, form: UseFormReturnType<Values>): void => {
  const key = `draft of ${useSession().user.email}: ${location.pathname} ${name}`;
  const { isDirty, getInitialValues, getValues, setValues, resetDirty } = form;
  const release = useUnsavedWork(isDirty());
  useWindowEvent(SESSION_ENDED, () => {
    if (!isDirty()) return;
    release();
    sessionStorage.setItem(key, JSON.stringify({ opened: getInitialValues(), values: getValues() }));
  });
  useEffect(() => {
    const draft = sessionStorage.getItem(key);
    if (draft === null) return;
    sessionStorage.removeItem(key);
    const { opened, values }: { opened: Values; values: Values } = JSON.parse(draft);
    setValues(values);
    resetDirty(opened);
    notify('Your changes are still here. Save them when you are ready.');
  }, [key, setValues, resetDirty]);
};

import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { steward } from '../api.ts';
import type { FormButtonsProps } from '../components/form-buttons.tsx';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { notify } from '../components/toasts.ts';
import { useDraft } from '../components/use-draft.ts';
import { show, useFollow } from '../components/use-record-form.tsx';
import { type OpenidValues, valuesOf, withoutEmptyRows } from './openid-values.ts';
import { type OpenidApp, openidQuery, useOpenidRefresh } from './use-openid.ts';

/** A form for the OpenID settings of an app. @param openid undefined: not set up yet */
export const useOpenidForm = (appId: string, openid: OpenidApp | undefined) => {
  const queryClient = useQueryClient();
  const refresh = useOpenidRefresh();
  const stored = valuesOf(openid);
  const form = useForm({ initialValues: stored });
  useFollow(form, openid ?? NOTHING, stored);
  useDraft(openid ? 'openid' : 'new openid', form);
  const { onError, prompt } = usePasswordConfirmation();
  const update = useMutation({
    mutationFn: (values: OpenidValues) => steward.api.openid.update.mutate({ app_id: appId, ...values }),
    onSuccess: (saved) => {
      show(form, valuesOf(saved));
      queryClient.setQueryData(openidQuery(appId).queryKey, saved);
      refresh();
      if (!openid) notify('OpenID Connect was set up.');
    },
    onError: (error, values) => {
      form.setErrors(joined(fieldErrors(error)));
      onError(error, () => update.mutate(values));
    },
  });
  const submit = (typed: OpenidValues): void => {
    const values = withoutEmptyRows(typed);
    form.setValues(values);
    update.mutate(values);
  };
  const buttons: FormButtonsProps = {
    isDirty: form.isDirty(),
    isSaving: update.isPending,
    isSaved: update.isSuccess,
    // Errors of fields are shown at the fields.
    problem: Object.keys(fieldErrors(update.error)).length > 0 ? null : withoutConfirmation(update.error),
    onDiscard: () => show(form, valuesOf(openid)),
  };
  return { form, onSubmit: form.onSubmit(submit), buttons, prompt };
};

/** The same object at each rendering, because a new record would be shown. */
const NOTHING = {};

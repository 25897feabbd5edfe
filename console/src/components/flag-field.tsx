import { Switch, type SwitchProps, Text } from '@mantine/core';
import { useId } from 'react';

type Props = Pick<
  SwitchProps,
  'label' | 'description' | 'checked' | 'defaultChecked' | 'disabled' | 'onChange'
> & {
  isReadOnly: boolean;
};

/** A switch; for users who may not change it, its state in words. */
export const FlagField = ({ isReadOnly, ...field }: Props) =>
  isReadOnly ? (
    <FlagText {...field} isOn={field.checked ?? field.defaultChecked ?? false} />
  ) : (
    <NamedSwitch {...field} />
  );

/** The accessible name is only the label: Mantine's includes the description, which screen readers would read twice. */
export const NamedSwitch = ({ label, ...props }: SwitchProps) => {
  const id = useId();
  return <Switch {...props} label={<span id={id}>{label}</span>} aria-labelledby={id} />;
};

type TextProps = Pick<Props, 'label' | 'description'> & { isOn: boolean };

/** `Demo account – No` */
export const FlagText = ({ label, description, isOn }: TextProps) => (
  <div>
    <Text size="sm">
      {label} – <strong>{isOn ? 'Yes' : 'No'}</strong>
    </Text>
    {description && (
      <Text size="xs" c="dimmed">
        {description}
      </Text>
    )}
  </div>
);

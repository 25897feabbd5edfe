import { Switch, type SwitchProps, Text } from '@mantine/core';
import { useId } from 'react';

type Props = Pick<
  SwitchProps,
  'label' | 'description' | 'checked' | 'defaultChecked' | 'disabled' | 'onChange'
> & {
  isReadOnly: boolean;
};

/** A switch; for those who may not change it, what it says, in words. */
export const FlagField = ({ isReadOnly, ...field }: Props) =>
  isReadOnly ? (
    <FlagText {...field} isOn={field.checked ?? field.defaultChecked ?? false} />
  ) : (
    <NamedSwitch {...field} />
  );

/** Named by its label alone: Mantine's name includes the description, which readers would hear twice. */
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

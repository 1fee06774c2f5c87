# A guest of one sector for tests of the lab, in real mode: says a line, echoes what is typed, obeys the power button.
# Assembled to guest.bin by: as --32 -o g.o guest.S && ld -m elf_i386 -Ttext 0x7c00 --oformat binary -o guest.bin g.o
.code16
.globl _start
_start:
  cli
  xor %ax, %ax
  mov %ax, %ds
  mov %ax, %ss
  mov $0x7c00, %sp
  mov $0x3fb, %dx          # 16550, line control: 8 bits, no parity
  mov $0x03, %al
  out %al, %dx
  mov $0x602, %dx          # ACPI PM1_EN: power button
  mov $0x100, %ax
  out %ax, %dx
  mov $hello, %si
  call puts
again:
  mov $0x600, %dx          # ACPI PM1_STS
  in %dx, %ax
  test $1, %ah
  jnz button
  mov $0x3fd, %dx          # line status: a byte is there
  in %dx, %al
  test $1, %al
  jz again
  mov $0x3f8, %dx
  in %dx, %al
  cmp $'!', %al
  je panic
  cmp $'@', %al
  je reset
  call putc
  cmp $'*', %al
  je deaf
  cmp $'\r', %al
  jne again
  mov $'\n', %al
  call putc
  jmp again
button:
  mov $bye, %si
  call puts
  mov $0x604, %dx          # ACPI PM1_CNT: sleep enable, type 0 is off
  mov $0x2000, %ax
  out %ax, %dx
deaf:
  hlt
  jmp deaf
panic:
  mov $fault, %si
  call puts
  jmp again
reset:
  mov $0x06, %al           # reset control register
  mov $0xcf9, %dx
  out %al, %dx
  jmp deaf
puts:
  lodsb
  test %al, %al
  jz done
  call putc
  jmp puts
putc:
  push %ax
  mov $0x3fd, %dx
1: in %dx, %al
  test $0x20, %al          # room to send
  jz 1b
  pop %ax
  mov $0x3f8, %dx
  out %al, %dx
done:
  ret
hello: .asciz "grove 0.50 init: one sector\r\n> "
bye: .asciz "grove 1.00 stop: power button\r\n"
fault: .asciz "[    1.0] Kernel panic - not syncing: asked to\r\n"

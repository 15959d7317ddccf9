<?php
// Sends the email of clients.py to the recipient given as the argument.
require 'libphp-phpmailer/autoload.php';

$mail = new PHPMailer\PHPMailer\PHPMailer(true);
$mail->isSMTP();
$mail->Host = getenv('MAIL_HOST');
$mail->Port = (int) getenv('MAIL_PORT');
$mail->SMTPAuth = true;
$mail->Username = getenv('MAIL_USER');
$mail->Password = getenv('MAIL_KEY');
$mail->CharSet = 'UTF-8';
$mail->setFrom(getenv('MAIL_FROM'));
$mail->addAddress($argv[1]);
$mail->Subject = getenv('MAIL_SUBJECT');
$mail->isHTML(true);
$mail->Body = getenv('MAIL_HTML');
$mail->AltBody = getenv('MAIL_TEXT');
$mail->addAttachment(getenv('MAIL_FILE'));
$mail->send();

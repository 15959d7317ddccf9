# As much of Homebrew as the formula needs: `brew.rb FORMULA FOLDER ARCHIVE PREFIX` installs the archive, runs the test and the service, and
# compares what each system would download with the checksums in FOLDER.
require "digest"
require "fileutils"
require "open3"
require "pathname"
require "tmpdir"

# `folder.install FILES` moves files.
class Pathname
  def install(*files)
    files.flatten.tap { |list| raise "nothing to install in #{self}" if list.empty? }.each do |file|
      mkpath
      FileUtils.mv(file, self)
    end
  end
end

class Formula
  class << self
    attr_reader :downloads, :service_block, :test_block

    def desc(text) = text.length <= 80 || raise("the description is too long")
    def license(value) = value
    def homepage(value) = value
    def version(value = nil) = value ? @version = value : @version
    def on_macos(&) = within(:macos, &)
    def on_linux(&) = within(:linux, &)
    def on_arm(&) = within(:arm, &)
    def on_intel(&) = within(:intel, &)
    def url(value) = downloads_here[:url] = value
    def sha256(value) = downloads_here[:sha256] = value
    def service(&block) = @service_block = block
    def test(&block) = @test_block = block

    private

    def within(name)
      (@within ||= []).push(name)
      yield
      @within.pop
    end

    def downloads_here = (@downloads ||= {})[@within.dup] ||= {}
  end

  attr_reader :prefix

  def initialize(prefix) = @prefix = prefix
  def assert(value, message) = value || raise(message)
  def assert_equal(expected, found, place = nil) = assert(expected == found, "#{place}: #{found.inspect} instead of #{expected.inspect}")
  def assert_match(pattern, text) = assert(text.match?(pattern.is_a?(String) ? Regexp.escape(pattern) : pattern), "#{text} without #{pattern}")

  def version = self.class.version
  def bin = prefix/"bin"
  def opt_bin = bin
  def var = prefix/"var"
  def man1 = prefix/"share/man/man1"
  def doc = prefix/"share/doc/idempost"
  def bash_completion = prefix/"etc/bash_completion.d"
  def zsh_completion = prefix/"share/zsh/site-functions"
  def fish_completion = prefix/"share/fish/vendor_completions.d"

  def shell_output(command, expected = 0)
    output, status = Open3.capture2(command)
    assert_equal expected, status.exitstatus, command
    output
  end

  # The service's settings.
  def run(command) = @command = command
  def keep_alive(value) = value
  def error_log_path(path) = path
  attr_reader :command
end

formula, folder, archive, prefix = ARGV.map { |argument| Pathname(argument).expand_path }
archive = folder/archive.basename
load formula
brew = Idempost.new(prefix)

targets = {
  [:macos, :arm] => "aarch64-apple-darwin", [:macos, :intel] => "x86_64-apple-darwin",
  [:linux, :arm] => "aarch64-unknown-linux-gnu", [:linux, :intel] => "x86_64-unknown-linux-gnu"
}
expected = targets.transform_values do |target|
  name = "idempost-#{target}.tar.gz"
  { url: "https://releases.example/v1/#{name}", sha256: (folder/"#{name}.sha256").read[/\A\h{64}/] }
end
brew.assert_equal expected, Idempost.downloads
found = Digest::SHA256.file(archive).hexdigest
brew.assert expected.values.any? { |download| download[:sha256] == found }, "no system has the archive"
puts "ok: each system gets its archive"

Dir.mktmpdir do |unpacked|
  system("tar", "-xzf", archive.to_s, "-C", unpacked, exception: true)
  # Like Homebrew, changes into an archive's only folder.
  Dir.chdir(Dir.children(unpacked).then { |children| File.join(unpacked, *children) }) do
    brew.install
    left = Dir["**/*"].select { |path| File.file?(path) }
    brew.assert_equal [], left, "what the formula leaves out"
  end
end
puts "ok: the formula installs every file of the archive"

Dir.mktmpdir do |home|
  ENV["HOME"] = home
  Dir.chdir(home) { brew.instance_exec(&Idempost.test_block) }
end
puts "ok: the formula's test passes"

brew.instance_exec(&Idempost.service_block)
command = brew.command.map(&:to_s) + ["--port", "0", "--until-eof"]
output, status = Open3.capture2(*command, stdin_data: "")
brew.assert status.success?, output
brew.assert_match "export IDEMPOST_BASE_URL=", output
brew.assert((brew.var/"idempost-sandbox").directory?, "the service has no data")
puts "ok: the formula's service starts"
